#include "portable/run_document.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/uuid.h"
#include "replay/location.h"

namespace pawl::portable {

namespace {

using replay::CommandKind;
using replay::Entry;
using replay::EntryKind;
using replay::EntryRole;
using store::RunStatus;

Error corrupt(const std::string& what) { return make_error(ErrorCode::kCorruptLog, what); }

std::string describe(const Entry& entry) {
  return "entry " + std::to_string(entry.seq) + " (" +
         std::string(replay::traits(entry.kind).event) + ")";
}

// Those whose ids the core makes, and only the core.
bool has_made_id(CommandKind kind) {
  return kind == CommandKind::kTask || kind == CommandKind::kOperation ||
         kind == CommandKind::kChildWorkflow;
}

// An id of another form was recorded by another system, and is as good as any.
Result<void> check_ids(const RunDocument& document, const replay::Log& log) {
  for (replay::RecordId id = 0; id < log.size(); ++id) {
    const replay::Record& record = log[id];
    if (!record.is_command || !record.id_is_binary || !has_made_id(log.command_kind(record))) {
      continue;
    }
    const std::string location = log.location(record).to_string();
    const std::string made = uuid5(document.image.row.uuid, location).to_string();
    if (log.id_text(record) != made) {
      return corrupt("log: " + describe(document.log[id]) + ": its id is " + log.id_text(record) +
                     ", but in the run " + document.image.row.uuid.to_string() +
                     " the command at " + location + " has the id " + made);
    }
  }
  return {};
}

std::optional<RunStatus> status_after(EntryKind end) {
  switch (end) {
    case EntryKind::kWorkflowCompleted:
      return RunStatus::kCompleted;
    case EntryKind::kWorkflowFailed:
      return RunStatus::kFailed;
    case EntryKind::kWorkflowCancelled:
      return RunStatus::kCancelled;
    case EntryKind::kWorkflowRecurred:
      return RunStatus::kRecurred;
    default:
      return std::nullopt;
  }
}

Result<void> check_status(const RunDocument& document, const replay::Log& log) {
  const store::RunRow& row = document.image.row;
  std::optional<RunStatus> reached;
  if (log.end_record() != replay::kNoRecord) {
    reached = status_after(log[log.end_record()].kind);
  }
  const std::string name(store::status_name(row.status));
  const bool is_over = store::is_closed(row.status) || row.status == RunStatus::kCompensating;
  if (!is_over && reached) {
    return corrupt("status: it is " + name + ", but the log ends with " +
                   std::string(replay::traits(log[log.end_record()].kind).event));
  }
  if (!is_over) {
    return {};
  }
  const RunStatus wanted = row.status == RunStatus::kCompensating ? row.goal : row.status;
  if (row.status == RunStatus::kCompensating && wanted != RunStatus::kFailed &&
      wanted != RunStatus::kCancelled) {
    return corrupt("goal: a run that compensates ends as failed or as cancelled");
  }
  if (!reached) {
    return corrupt("status: it is " + name + ", but the log does not say how the workflow ended");
  }
  if (*reached != wanted) {
    return corrupt("status: it is " + name + ", but the log ends with " +
                   std::string(replay::traits(log[log.end_record()].kind).event));
  }
  return {};
}

// Whoever takes a task must not do what nobody asked for, or what is done.
Result<void> check_tasks(const RunDocument& document, const replay::Log& log) {
  std::multiset<std::string> open;  // Another system may have given an id twice.
  for (replay::RecordId id = 0; id < log.size(); ++id) {
    if (log[id].kind == EntryKind::kTaskScheduled && log[id].link == replay::kNoRecord) {
      open.insert(log.id_text(log[id]));
    }
  }
  const std::vector<store::TaskRow>& tasks = document.image.tasks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto found = open.find(tasks[i].id);
    if (found == open.end()) {
      return corrupt("tasks[" + std::to_string(i) + "]: the log has no open task with the id '" +
                     tasks[i].id + "'");
    }
    open.erase(found);
  }
  return {};
}

Result<void> check_inbox(const RunDocument& document) {
  const std::vector<store::StoredArrival>& inbox = document.image.inbox;
  for (std::size_t i = 0; i < inbox.size(); ++i) {
    if (inbox[i].kind == store::kRetryOperation) {
      continue;
    }
    const replay::EntryTraits* known = replay::find_traits(static_cast<EntryKind>(inbox[i].kind));
    if (known == nullptr ||
        (known->role != EntryRole::kArrival && known->role != EntryRole::kFree)) {
      return corrupt("inbox[" + std::to_string(i) + "]: " +
                     (known == nullptr ? "the kind " + std::to_string(inbox[i].kind)
                                       : std::string(known->event)) +
                     " cannot reach a run");
    }
  }
  return {};
}

// Keeps the run that it is given.
class DocumentReader : public store::RunVisitor {
 public:
  explicit DocumentReader(RunDocument& document) : document_(document) {}

  Result<void> begin_run(store::VisitedRun run) override {
    document_.image = std::move(run.image);
    document_.image.row.key = 0;
    is_found_ = true;
    return {};
  }
  Result<void> visit_entry(const Entry& entry) override {
    document_.log.push_back(document_.keeper->keep(entry));
    return {};
  }
  Result<void> visit_forgotten(const Entry& entry, const store::MovedFrom&) override {
    document_.forgotten.push_back(document_.keeper->keep(entry));
    return {};
  }
  Result<void> end_run() override { return {}; }

  bool is_found() const { return is_found_; }

 private:
  RunDocument& document_;
  bool is_found_ = false;
};

Result<void> check_forgotten(const RunDocument& document) {
  std::uint64_t last = 0;
  auto next = document.log.begin();
  for (const Entry& entry : document.forgotten) {
    next = std::find_if(next, document.log.end(),
                        [&](const Entry& kept) { return kept.seq >= entry.seq; });
    if (entry.seq <= last || (next != document.log.end() && next->seq == entry.seq)) {
      return corrupt("forgotten: " + describe(entry) + ": seq " + std::to_string(entry.seq) +
                     " is there twice, or out of order");
    }
    last = entry.seq;
  }
  return {};
}

}  // namespace

Entry EntryKeeper::keep(const Entry& entry) {
  Entry kept = entry;
  for (std::string_view* text : {&kept.location, &kept.id, &kept.name, &kept.child_kind,
                                 &kept.step_key, &kept.source, &kept.payload, &kept.extra}) {
    *text = keep(*text);
  }
  if (entry.checkpoint != nullptr) {
    kept.checkpoint = &checkpoints_.emplace_back(*entry.checkpoint);
  }
  return kept;
}

Result<RunDocument> read_document(store::Store& store, store::RunKey run) {
  RunDocument document;
  DocumentReader reader(document);
  PAWL_TRY(store.catalog().visit_all_runs(store::range_of(run), reader));
  if (!reader.is_found()) {
    return make_error(ErrorCode::kNotFound, "there is no run " + std::to_string(run));
  }
  return document;
}

Result<replay::Log> load_log(const RunDocument& document) {
  replay::Log log;
  log.reserve(document.log.size());
  for (const Entry& entry : document.log) {
    if (Result<void> loaded = log.load(entry); !loaded) {
      return make_error(loaded.error().code, "log: " + loaded.error().message);
    }
  }
  if (Result<void> loaded = log.finish_loading(); !loaded) {
    return make_error(loaded.error().code, "log: " + loaded.error().message);
  }
  return log;
}

Result<void> check_document(const RunDocument& document) {
  if (document.image.row.id.empty()) {
    return corrupt("id: a run needs one");
  }
  if (document.image.row.kind.empty()) {
    return corrupt("kind: a run needs one");
  }
  PAWL_TRY_ASSIGN(const replay::Log log, load_log(document));
  PAWL_TRY(check_ids(document, log));
  PAWL_TRY(check_status(document, log));
  PAWL_TRY(check_tasks(document, log));
  PAWL_TRY(check_inbox(document));
  return check_forgotten(document);
}

std::map<std::string, std::string> made_ids(const replay::Log& log, replay::RecordId end,
                                            const Uuid& from, const Uuid& to) {
  std::map<std::string, std::string> ids;
  for (replay::RecordId id = 0; id < end; ++id) {
    const replay::Record& record = log[id];
    if (!record.is_command || !record.id_is_binary) {
      continue;
    }
    const std::string location = log.location(record).to_string();
    std::string text = log.id_text(record);
    if (text == uuid5(from, location).to_string()) {
      ids.emplace(std::move(text), uuid5(to, location).to_string());
    }
  }
  return ids;
}

Result<void> give_run_id(RunDocument& document, const Uuid& uuid) {
  PAWL_TRY_ASSIGN(const replay::Log log, load_log(document));
  store::RunImage& image = document.image;
  const auto ids = made_ids(log, static_cast<replay::RecordId>(log.size()), image.row.uuid, uuid);
  const auto new_id = [&](std::string_view id) {
    const auto found = ids.find(std::string(id));
    return found == ids.end() ? std::string(id) : found->second;
  };
  image.row.uuid = uuid;
  for (std::vector<Entry>* entries : {&document.log, &document.forgotten}) {
    for (Entry& entry : *entries) {
      entry.id = document.keeper->keep(new_id(entry.id));
    }
  }
  for (store::TaskRow& task : image.tasks) {
    task.id = new_id(task.id);
  }
  for (store::StoredArrival& arrival : image.inbox) {
    arrival.id = new_id(arrival.id);
  }
  return check_document(document);
}

store::CreateRun make_create_run(const RunDocument& document, std::int64_t now_ms) {
  store::CreateRun create;
  create.image = document.image;
  create.entries = document.log;
  create.texts = document.keeper;
  create.now_ms = now_ms;
  return create;
}

}  // namespace pawl::portable
