#include "sdk/client.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/thread_environment.h"
#include "sdk/check_answer.h"
#include "sdk/codec_store.h"
#include "sdk/error_lines.h"
#include "sdk/event.h"
#include "sdk/program.h"
#include "sdk/token.h"
#include "store/open/open_store.h"
#include "store/state.h"
#include "store/url.h"

namespace pawl {

namespace detail {

void throw_client_error(std::string_view what, const Error& error) {
  const std::string text = std::string(what) + ": " + error.message;
  switch (error.code) {
    case ErrorCode::kNotFound:
      throw NotFound(text);
    case ErrorCode::kAlreadyExists:
      throw AlreadyExists(text);
    case ErrorCode::kClosed:
      throw Closed(text);
    case ErrorCode::kTimedOut:
      throw TimedOut(text);
    case ErrorCode::kStoreBusy:
    case ErrorCode::kStoreFull:
    case ErrorCode::kStoreIo:
    case ErrorCode::kStoreCorrupt:
    case ErrorCode::kStoreUnusable:
    case ErrorCode::kUnknownOutcome:
    case ErrorCode::kCorruptLog:
      throw StoreError(text);
    default:
      throw UsageError(text);
  }
}

// --- Opening -------------------------------------------------------------------------------------

namespace {

// A codec may make payloads longer.
std::size_t longest_payload(const EngineOptions& options, std::size_t given, std::size_t most) {
  const std::size_t longest = options.payload_bytes_max + options.payload_bytes_max / 4 + 1024;
  return std::min(most, std::max(given, longest));
}

Result<std::unique_ptr<store::Store>> open_url(std::string_view url, const EngineOptions& options) {
  PAWL_TRY_ASSIGN(store::StoreUrl parsed, store::parse_store_url(url));
  if (auto* const sqlite = std::get_if<store::SqliteOptions>(&parsed)) {
    sqlite->payload_bytes_max =
        longest_payload(options, sqlite->payload_bytes_max, store::kPayloadBytesLimit);
  }
  if (auto* const postgres = std::get_if<store::PostgresOptions>(&parsed)) {
    postgres->payload_bytes_max =
        longest_payload(options, postgres->payload_bytes_max, store::kPostgresPayloadBytesLimit);
  }
  return store::open_store(parsed);
}

}  // namespace

std::shared_ptr<store::Store> open_store(std::string_view url, const EngineOptions& options) {
  auto opened = open_url(url, options);
  if (!opened) {
    if (opened.error().code == ErrorCode::kInvalidArgument) {
      throw UsageError(opened.error().message);  // It names the URL.
    }
    throw_client_error("store '" + store::without_password(url) + "'", opened.error());
  }
  return *std::move(opened);
}

namespace {

engine::EngineOptions engine_options(const EngineOptions& options,
                                     const Client::OpenOptions& open) {
  engine::EngineOptions result;
  result.worker_name = options.worker_name;
  result.lease_ms = options.lease.count();
  result.cache_bytes = options.cache_bytes;
  result.payload_bytes_max = options.payload_bytes_max;
  result.queues.clear();
  for (const Queue& queue : options.queues) {
    result.queues.push_back({queue.name, queue.concurrency});
  }
  const auto keep = [&](store::RunStatus status, Millis age) {
    if (age > Millis::zero()) {
      result.retention.push_back({status, age.count()});
    }
  };
  keep(store::RunStatus::kCompleted, options.retention.completed);
  keep(store::RunStatus::kFailed, options.retention.failed);
  keep(store::RunStatus::kCancelled, options.retention.cancelled);
  keep(store::RunStatus::kRecurred, options.retention.recurred);
  result.replay_every_turn = open.replay_every_turn;
  if (options.on_error) {
    result.on_error = [on_error = options.on_error](const Error& error, std::string_view what) {
      on_error(std::string(what) + ": " + error.message);
    };
  } else {
    result.on_error = [lines = std::make_shared<ErrorLines>()](const Error& error,
                                                               std::string_view what) {
      if (auto line = lines->line(what, error, std::chrono::steady_clock::now())) {
        std::fputs((*line += '\n').c_str(), stderr);
      }
    };
  }
  return result;
}

}  // namespace

void Client::open(std::shared_ptr<store::Store> store, OpenOptions open) {
  store_ =
      make_codec_store(std::move(store), PayloadCodecs(options_.payload_codec, options_.old_codecs),
                       std::move(open.on_commit));
  std::vector<engine::Definition> definitions;
  for (const WorkflowEntry& entry : registry_.workflows()) {
    definitions.push_back(make_definition(entry, open.settings));
  }
  std::vector<engine::ActivityType> activities;
  for (const ActivityEntry& entry : registry_.activities()) {
    activities.push_back(make_activity_type(entry, *open.settings));
  }
  auto engine = engine::Engine::create(engine_options(options_, open), store_, environment_,
                                       std::move(definitions), std::move(activities));
  if (!engine) {
    throw_client_error("engine", engine.error());
  }
  engine_ = *std::move(engine);
  if (options_.work) {
    const Result<void> started = engine_->start();
    if (!started) {
      throw_client_error("engine", started.error());
    }
  }
}

Client::~Client() { stop(); }

void Client::stop() {
  if (engine_) {
    engine_->stop();
  }
}

void Client::abandon() {
  engine_->abandon();
  engine_.reset();
  store_.reset();
}

const std::string& Client::kind_of(std::string_view call, void (*function)()) const {
  const WorkflowEntry* found = nullptr;
  for (const WorkflowEntry& entry : registry_.workflows()) {
    if (entry.function != function) {
      continue;
    }
    if (found != nullptr) {
      throw UsageError(std::string(call) + ": this function is in the registry as '" + found->kind +
                       "' and as '" + entry.kind + "'; say which by its name");
    }
    found = &entry;
  }
  if (found == nullptr) {
    throw UsageError(std::string(call) +
                     ": this function is not in the engine's registry; add it by "
                     "Registry::workflow(kind, function), or start it by the name of its kind if "
                     "another process has it");
  }
  return found->kind;
}

bool Client::has_kind(std::string_view kind) const {
  return std::ranges::any_of(registry_.workflows(),
                             [&](const WorkflowEntry& entry) { return entry.kind == kind; });
}

bool Client::has_activity(std::string_view name) const {
  return std::ranges::any_of(registry_.activities(),
                             [&](const ActivityEntry& entry) { return entry.name == name; });
}

// --- Calls ---------------------------------------------------------------------------------------

namespace {

// A call, with what a test kit does around it.
class Call {
 public:
  Call(Client& client, bool may_crash) : hooks_(client.hooks()) {
    if (hooks_ != nullptr) {
      hooks_->before_call(may_crash);
    }
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Before the answer is used: this may throw.
  void end() const {
    if (hooks_ != nullptr) {
      hooks_->after_call();
    }
  }
  bool recover() const { return hooks_ != nullptr && hooks_->recover(); }
  std::int64_t limit_ms(std::optional<Millis> limit) const {
    if (!limit && hooks_ != nullptr) {
      limit = hooks_->longest_wait();
    }
    return limit ? std::max<std::int64_t>(limit->count(), 0) : -1;
  }

 private:
  ClientHooks* hooks_;
};

// Makes the call, and waits for its answer.
template <class T, class Ask>
T wait_for(Client& client, const std::string& what, const Ask& ask,
           std::optional<Millis> limit = std::nullopt, bool may_crash = false) {
  struct Answer {
    engine::Latch latch;
    std::optional<Result<T>> result;
  };
  const Call call(client, may_crash);
  std::shared_ptr<Answer> answer;
  do {
    answer = std::make_shared<Answer>();
    ask([answer](Result<T> result) {
      answer->result.emplace(std::move(result));
      answer->latch.set();
    });
  } while (!client.environment().wait(answer->latch, call.limit_ms(limit)) && call.recover());
  call.end();
  if (!answer->latch.is_set() || !answer->result) {
    throw TimedOut(what + ": no answer in time");
  }
  Result<T>& result = *answer->result;
  if (!result) {
    throw_client_error(what, result.error());
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

std::string call_on(std::string_view call, const std::string& run) {
  return std::string(call) + " '" + run + "'";
}

}  // namespace

namespace {

void check_size(Client& client, std::string_view what, std::size_t bytes) {
  if (bytes > client.options().payload_bytes_max) {
    throw PayloadTooLarge(what, bytes, client.options().payload_bytes_max);
  }
}

// "signal 'approved' to 'order-17'".
std::string signal_text(const std::string& signal, const std::string& run) {
  return call_on("signal", signal) + " to '" + run + "'";
}

// The event, encoded.
std::string check_signal(Client& client, const std::string& what, const std::string& signal,
                         const std::string& payload, const Event& event) {
  check_size(client, what, payload.size());
  std::string extra = encode_event(signal, event);
  check_size(client, "event of " + what, extra.size());
  return extra;
}

}  // namespace

Started start(Client& client, std::string kind, std::string id, std::string input,
              const StartOptions& options, std::optional<SignalWithStart> signal) {
  engine::StartRequest request;
  const std::string what = call_on("start", id);
  if (kind.empty()) {
    throw UsageError(what + ": the kind of workflow must not be empty");
  }
  check_size(client, "input of run '" + id + "'", input.size());
  if (signal) {
    request.signal_extra = check_signal(client, signal_text(signal->name, id), signal->name,
                                        signal->payload, signal->event);
  }
  request.kind = std::move(kind);
  request.id = std::move(id);
  request.input = std::move(input);
  switch (options.on_existing) {
    case OnExisting::kReturn:
      request.on_existing = store::OnExisting::kReturn;
      break;
    case OnExisting::kFail:
      request.on_existing = store::OnExisting::kFail;
      break;
    case OnExisting::kReplace:
      request.on_existing = store::OnExisting::kReplace;
      break;
  }
  for (const auto& [name, value] : options.tags) {
    request.tags.push_back({name, value});
  }
  if (signal) {
    request.signal = std::move(signal->name);
    request.signal_payload = std::move(signal->payload);
    request.signal_dedupe = dedupe_text(signal->event);
  }
  engine::StartedRun started = wait_for<engine::StartedRun>(
      client, what, [&](auto done) { client.engine().start_run(request, std::move(done)); });
  return {std::move(started.id), started.is_new};
}

std::string kind_of(Client& client, std::string_view call, void (*function)()) {
  return client.kind_of(call, function);
}

bool signal(Client& client, const std::string& run, const std::string& name,
            const std::string& payload, const Event& event) {
  const std::string what = signal_text(name, run);
  const std::string extra = check_signal(client, what, name, payload, event);
  return wait_for<bool>(client, what, [&](auto done) {
    client.engine().signal(run, name, payload, extra, dedupe_text(event), std::move(done));
  });
}

void resolve(Client& client, const std::string& run, const std::string& promise,
             const std::string& payload) {
  const std::string what = call_on("resolve", promise) + " of '" + run + "'";
  check_size(client, what, payload.size());
  wait_for<void>(client, what, [&](auto done) {
    client.engine().resolve(run, promise, payload, std::move(done));
  });
}

void reject(Client& client, const std::string& run, const std::string& promise,
            const std::string& type, const std::string& message, const std::string& details) {
  engine::Failure failure;
  failure.type = type;
  failure.message = message;
  failure.details = details;
  const std::string what = call_on("reject", promise) + " of '" + run + "'";
  const std::string payload = engine::encode_failure(failure);
  check_size(client, what, payload.size());
  wait_for<void>(client, what, [&](auto done) {
    client.engine().reject(run, promise, payload, std::move(done));
  });
}

void cancel(Client& client, const std::string& run, const std::string& reason) {
  check_size(client, "reason to " + call_on("cancel", run), reason.size());
  wait_for<void>(client, call_on("cancel", run),
                 [&](auto done) { client.engine().cancel(run, reason, std::move(done)); });
}

void terminate(Client& client, const std::string& run, const std::string& reason) {
  check_size(client, "reason to " + call_on("terminate", run), reason.size());
  wait_for<void>(client, call_on("terminate", run),
                 [&](auto done) { client.engine().terminate(run, reason, std::move(done)); });
}

void resume(Client& client, const std::string& run) {
  wait_for<void>(client, call_on("resume", run),
                 [&](auto done) { client.engine().resume(run, std::move(done)); });
}

bool pause(Client& client, const std::string& run, bool is_paused) {
  return wait_for<bool>(client, call_on(is_paused ? "pause" : "unpause", run),
                        [&](auto done) { client.engine().pause(run, is_paused, std::move(done)); });
}

std::int64_t retry_now(Client& client, const std::string& run) {
  return wait_for<std::int64_t>(client, call_on("retry", run),
                                [&](auto done) { client.engine().hurry(run, std::move(done)); });
}

void remove(Client& client, const std::string& run) {
  wait_for<void>(client, call_on("remove", run),
                 [&](auto done) { client.engine().remove(run, std::move(done)); });
}

namespace {

// What the run needs and this engine does not have, for whoever waits in vain; others may have it.
std::string missing_for(Client& client, const std::string& run) {
  const store::RunRow row = find_row(client, run);
  std::string text;
  const auto miss = [&](const std::string& what) { text += "; this engine " + what; };
  if (!client.has_kind(row.kind)) {
    miss("has no workflow '" + row.kind + "'");
  }
  const Result<std::vector<store::TaskRow>> tasks = client.store().read_tasks(row.key);
  for (std::size_t i = 0; tasks && i < tasks->size(); ++i) {
    const store::TaskRow& task = (*tasks)[i];
    if (!client.has_activity(task.type)) {
      miss("has no activity '" + task.type + "'");
    } else if (std::ranges::find(client.options().queues, task.queue, &Queue::name) ==
               client.options().queues.end()) {
      miss("takes no tasks from the queue '" + task.queue + "'");
    }
  }
  const Result<std::vector<store::RunRow>> children = client.store().read_children(row.key);
  for (std::size_t i = 0; children && i < children->size(); ++i) {
    const store::RunRow& child = (*children)[i];
    if (!store::is_closed(child.status) && !client.has_kind(child.kind)) {
      miss("has no workflow '" + child.kind + "', which the child '" + child.id + "' is");
    }
  }
  return text;
}

}  // namespace

std::string wait(Client& client, const std::string& run, std::optional<Millis> limit) {
  engine::RunOutcome outcome;
  try {
    outcome = wait_for<engine::RunOutcome>(
        client, call_on("result of", run),
        [&](auto done) { client.engine().wait(run, std::move(done)); }, limit, true);
  } catch (const TimedOut& error) {
    const Description description = describe(client, run);
    throw TimedOut(std::string(error.what()) + "; the run is " +
                   store::status_text(static_cast<store::RunStatus>(description.status),
                                      description.waiting_for) +
                   (description.reason.empty() ? "" : ": " + description.reason) +
                   missing_for(client, run));
  }
  switch (outcome.status) {
    case store::RunStatus::kFailed: {
      const engine::Failure failure = engine::decode_failure(outcome.payload);
      throw WorkflowFailed(call_on("run", run), failure.type, failure.message, failure.details);
    }
    case store::RunStatus::kCancelled:
      throw WorkflowCancelled(run, engine::decode_failure(outcome.payload).message);
    default:
      return std::move(outcome.payload);
  }
}

store::RunRow find_row(Client& client, const std::string& run) {
  Result<std::optional<store::RunRow>> found = client.store().find_run(run, std::nullopt);
  if (!found) {
    throw_client_error(call_on("describe", run), found.error());
  }
  std::optional<store::RunRow>& row = *found;
  if (!row) {
    throw NotFound("there is no run '" + run + "'");
  }
  return *std::move(row);
}

namespace {

Description describe(Client& client, const store::RunRow& row) {
  Description description;
  description.info = {row.id, row.number, row.kind, row.uuid.to_string()};
  description.status = static_cast<Status>(row.status);
  description.waiting_for = row.waiting_for;
  description.paused = row.is_paused;
  description.started = Time(Millis(row.created_ms));
  description.changed = Time(Millis(row.changed_ms));
  Result<std::vector<store::Tag>> tags = client.store().read_tags(row.key);
  if (!tags) {
    throw_client_error(call_on("describe", row.id), tags.error());
  }
  for (store::Tag& tag : *tags) {
    description.tags.emplace_back(std::move(tag.name), std::move(tag.value));
  }
  if (row.status == store::RunStatus::kBlocked) {
    auto reason = client.store().read_reason(row.key);
    if (!reason) {
      throw_client_error(call_on("describe", row.id), reason.error());
    }
    description.reason = *std::move(reason);
  }
  return description;
}

store::RunFilter filter_of(const ListOptions& options) {
  store::RunFilter filter;
  filter.kinds = options.kinds;
  for (const Status status : options.statuses) {
    filter.statuses.push_back(static_cast<store::RunStatus>(status));
  }
  for (const auto& [name, value] : options.tags) {
    filter.tags.push_back({name, value});
  }
  const auto set = [](std::int64_t& moment, const std::optional<Time>& given) {
    moment = given ? given->time_since_epoch().count() : moment;
  };
  set(filter.created_from_ms, options.started_from);
  set(filter.created_to_ms, options.started_before);
  set(filter.changed_from_ms, options.changed_from);
  set(filter.changed_to_ms, options.changed_before);
  filter.is_paused = options.paused;
  return filter;
}

}  // namespace

Description describe(Client& client, const std::string& run) {
  const Call call(client, false);
  return describe(client, find_row(client, run));
}

RunList list(Client& client, const ListOptions& options) {
  const Call call(client, false);
  store::RunCursor after;
  if (!options.cursor.empty()) {
    const std::optional<store::RunCursor> given = store::parse_cursor(options.cursor);
    if (!given) {
      throw UsageError("list: '" + options.cursor + "' is no cursor; give RunList::next");
    }
    after = *given;
  }
  const Result<store::RunPage> page =
      client.store().catalog().list_runs(filter_of(options), after, options.limit);
  if (!page) {
    throw_client_error("list", page.error());
  }
  RunList list;
  for (const store::RunRow& row : page->rows) {
    list.runs.push_back(describe(client, row));
  }
  list.next = page->next ? store::cursor_text(*page->next) : "";
  return list;
}

std::int64_t count(Client& client, const ListOptions& options) {
  const Call call(client, false);
  const Result<std::int64_t> count = client.store().catalog().count_runs(filter_of(options));
  if (!count) {
    throw_client_error("count", count.error());
  }
  return *count;
}

std::optional<std::string> state(Client& client, const std::string& run, std::string_view key,
                                 std::uint64_t until_seq) {
  const Call call(client, false);
  const store::RunRow row = find_row(client, run);
  Result<store::State> state = store::read_state(client.store(), row.key, until_seq);
  if (!state) {
    throw_client_error(call_on("state of", run), state.error());
  }
  const auto found = state->values.find(std::string(key));
  return found == state->values.end() ? std::nullopt : std::optional(std::move(found->second));
}

void stop(Client& client) { client.stop(); }

std::pair<std::string, std::string> parse_token(std::string_view token) {
  auto parts = read_token(token);
  if (!parts) {
    throw UsageError("'" + std::string(token) + "' is no token of a promise");
  }
  return *std::move(parts);
}

}  // namespace detail

// --- Engine --------------------------------------------------------------------------------------

std::string_view to_string(Status status) {
  return store::status_name(static_cast<store::RunStatus>(status));
}

namespace {

std::shared_ptr<engine::Environment> threads_for(const EngineOptions& options) {
  engine::ThreadOptions threads;
  if (options.activity_threads != 0) {
    threads.activities = options.activity_threads;
  }
  return engine::make_thread_environment(threads);
}

// A program that does not answer must not work on the store instead.
const Registry& check_not_asked(const Registry& registry) {
  const char* variable = std::getenv(detail::kCheckVariable);
  if (variable != nullptr && *variable != '\0') {
    throw UsageError(
        "`pawl check` has started this program, but it makes an engine before it calls "
        "pawl::answer_check(registry): call that first in main, when the registry is filled");
  }
  return registry;
}

std::shared_ptr<const detail::Settings> settings_for(const EngineOptions& options) {
  auto settings = std::make_shared<detail::Settings>();
  settings->payload_bytes_max = options.payload_bytes_max;
  return settings;
}

}  // namespace

Engine::Engine(std::string_view url, const Registry& registry, const EngineOptions& options)
    : client_(std::make_shared<detail::Client>(threads_for(options), check_not_asked(registry),
                                               options)) {
  client_->open(detail::open_store(url, options), {settings_for(options), false, {}});
}

Engine::~Engine() {
  if (client_) {
    client_->stop();
  }
}

}  // namespace pawl
