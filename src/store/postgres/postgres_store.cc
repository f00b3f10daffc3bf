#include "store/postgres/postgres_store.h"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "replay/entry.h"
#include "store/postgres/connection.h"
#include "store/postgres/listener.h"
#include "store/postgres/postgres_catalog.h"
#include "store/postgres/reader.h"
#include "store/postgres/schema.h"
#include "store/postgres/text.h"
#include "store/postgres/writer.h"

namespace pawl::store {

namespace {

// Behind a pooler no notice is heard: then it is looked for changes all the time.
constexpr std::int64_t kLookEveryMs = 1000;

// Who tells others of changes: one name for each open store.
std::string new_sender() {
  std::random_device device;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name;
  for (int i = 0; i < 16; ++i) {
    name += kDigits[device() % kDigits.size()];
  }
  return name;
}

// To begin to listen.
class FirstAttempt {
 public:
  // True: it has ended by this.
  bool end() {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
    return !std::exchange(is_over_, true);
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return is_over_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
};

class PostgresStore : public MovableStore {
 public:
  PostgresStore(const PostgresOptions& options, std::int64_t ns,
                std::unique_ptr<pg::Connection> writing, std::unique_ptr<pg::Connection> reading)
      : options_(options),
        channel_("pawl_" + options.schema.substr(0, 32) + "_" + std::to_string(ns)),
        sender_(new_sender()),
        write_connection_(std::move(writing)),
        writer_(*write_connection_, ns, channel_, sender_),
        reader_(std::move(reading), ns),
        catalog_(options, ns) {}

  Result<void> apply(std::span<Op> ops) override {
    const std::scoped_lock lock(write_mutex_);
    return writer_.apply(ops);
  }
  Result<WorkerKey> add_worker(const WorkerInfo& info) override {
    const std::scoped_lock lock(write_mutex_);
    return writer_.add_worker(info);
  }
  Result<void> remove_worker(WorkerKey worker, std::int64_t now_ms) override {
    const std::scoped_lock lock(write_mutex_);
    return writer_.remove_worker(worker, now_ms);
  }
  // Mostly nobody is dead: that is seen without a transaction.
  Result<Sweep> free_expired(WorkerKey self, std::int64_t now_ms) override {
    PAWL_TRY_ASSIGN(const std::int64_t first, reader_.first_expiry(self));
    if (first > now_ms) {
      return Sweep{false, first};
    }
    const std::scoped_lock lock(write_mutex_);
    return writer_.free_expired(self, now_ms);
  }
  Result<std::optional<std::int64_t>> read_clock() override {
    PAWL_TRY_ASSIGN(const std::int64_t now_ms, reader_.read_clock());
    return std::optional(now_ms);
  }

  Result<std::optional<RunRow>> find_run(RunKey run) override { return reader_.find_run(run); }
  Result<std::optional<RunRow>> find_run(std::string_view id,
                                         std::optional<std::uint32_t> number) override {
    return reader_.find_run(id, number);
  }
  Result<std::string> read_input(RunKey run) override { return reader_.read_input(run); }
  Result<std::vector<Tag>> read_tags(RunKey run) override { return reader_.read_tags(run); }
  Result<std::string> read_reason(RunKey run) override { return reader_.read_reason(run); }
  Result<void> read_log(RunKey run, std::uint64_t from_seq,
                        const pg::Reader::Visit& visit) override {
    return reader_.read_log(run, from_seq, visit);
  }
  Result<void> read_last(RunKey run, const pg::Reader::Visit& visit) override {
    return reader_.read_last(run, visit);
  }
  Result<void> read_forgotten(RunKey run, const pg::Reader::Visit& visit) override {
    return reader_.read_forgotten(run, visit);
  }
  // Keys are in order of commit within one run only, so that no place in their order would do.
  Result<News> read_news(WorkerKey worker, ArrivalKey after) override {
    News news;
    if (after != kNever) {
      PAWL_TRY_ASSIGN(news.arrivals, reader_.read_news(worker));
    }
    return news;
  }
  Result<std::vector<Arrival>> read_inbox_of(RunKey run) override {
    return reader_.read_inbox(run);
  }
  Result<std::vector<Arrival>> read_due_inbox(RunKey run, std::int64_t now_ms) override {
    return reader_.read_due_inbox(run, now_ms);
  }
  Result<std::vector<CompensationRow>> read_compensations(RunKey run) override {
    return reader_.read_compensations(run);
  }
  Result<std::vector<std::string>> read_promises(RunKey run) override {
    return reader_.read_promises(run);
  }
  Result<std::vector<TaskRow>> read_tasks(RunKey run) override { return reader_.read_tasks(run); }
  Result<std::vector<RunRow>> read_children(RunKey run) override {
    return reader_.read_children(run);
  }
  Result<std::int64_t> next_wake(std::span<const std::string> kinds,
                                 std::span<const KindDefinition> left,
                                 std::int64_t after_ms) override {
    return reader_.next_wake(kinds, left, after_ms);
  }
  Result<std::vector<KnownWorker>> read_workers() override { return reader_.read_workers(); }
  Result<std::vector<TaskRow>> due_tasks(std::int64_t now_ms, std::size_t limit,
                                         std::int64_t* next_due) override {
    return reader_.due_tasks(now_ms, limit, next_due);
  }
  Catalog& catalog() override { return catalog_; }

  Result<std::string> read_seal() override {
    PAWL_TRY_ASSIGN(const Database::Rows rows,
                    catalog_.query("SELECT seal FROM {schema}pawl_namespace WHERE key = {ns}"));
    return rows.empty() ? std::string() : pg::from_text(rows[0][0]);
  }
  Result<bool> change_seal(std::string_view expected, std::string_view next) override {
    const std::scoped_lock lock(write_mutex_);
    return writer_.change_seal(expected, next);
  }
  Result<void> carry(std::string_view seal, std::span<CarryRun> runs) override {
    const std::scoped_lock lock(write_mutex_);
    return writer_.carry(seal, runs);
  }
  Result<void> append(std::string_view seal, const CarryLog& log) override {
    const std::scoped_lock lock(write_mutex_);
    return writer_.append(seal, log);
  }
  Result<void> link(std::string_view seal, std::span<const CarryParent> links) override {
    const std::scoped_lock lock(write_mutex_);
    return writer_.link(seal, links);
  }

  void watch(std::function<void(Change)> on_change) override {
    const std::scoped_lock lock(watch_mutex_);
    tell_ends_by(nullptr);
    listener_.reset();
    if (!on_change) {
      return;
    }
    // Whoever looks when this has returned misses nothing that comes later; what is committed
    // before, he sees. If it cannot listen now, he is told when it does.
    const auto first = std::make_shared<FirstAttempt>();
    pg::Listener::Options options;
    options.channel = channel_;
    options.own_sender = sender_;
    options.on_notice = [on_change](std::string_view text) {
      on_change(text == pg::kEndsNotice ? Change::kEnds : Change::kAny);
    };
    options.on_connected = [on_change, first] {
      if (!first->end()) {
        on_change(Change::kAny);
      }
    };
    options.on_error = [first](const Error&) { first->end(); };
    options.every_ms = options_.prepare ? 0 : kLookEveryMs;
    listener_ = std::make_unique<pg::Listener>(options_, std::move(options));
    first->wait();
    tell_ends_by(options_.prepare ? listener_.get() : nullptr);
  }

 private:
  void tell_ends_by(pg::Listener* listener) {
    const std::scoped_lock lock(write_mutex_);
    if (listener == nullptr) {
      writer_.set_end_teller({});
    } else {
      writer_.set_end_teller([listener] { listener->tell(pg::kEndsNotice); });
    }
  }

  const PostgresOptions options_;
  const std::string channel_;
  const std::string sender_;
  std::mutex write_mutex_;
  std::unique_ptr<pg::Connection> write_connection_;
  pg::Writer writer_;
  pg::Reader reader_;
  pg::PostgresCatalog catalog_;
  std::mutex watch_mutex_;
  std::unique_ptr<pg::Listener> listener_;
};

Result<void> check(const PostgresOptions& options) {
  if (options.name_space.empty() || options.name_space.size() > replay::kNameBytesMax) {
    return make_error(ErrorCode::kInvalidArgument, "the namespace is empty or too long");
  }
  if (options.payload_bytes_max > kPostgresPayloadBytesLimit) {
    return make_error(ErrorCode::kInvalidArgument, "the limit for payloads is at most " +
                                                       std::to_string(kPostgresPayloadBytesLimit) +
                                                       " bytes");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<MovableStore>> open_movable_postgres(const PostgresOptions& options) {
  PAWL_TRY(check(options));
  PAWL_TRY_ASSIGN(std::unique_ptr<pg::Connection> writing, pg::Connection::open(options));
  PAWL_TRY(options.creates ? pg::migrate(*writing) : pg::check_schema(*writing));
  PAWL_TRY_ASSIGN(const std::int64_t ns,
                  options.creates ? pg::find_or_add_namespace(*writing, options.name_space)
                                  : pg::find_namespace(*writing, options.name_space));
  PAWL_TRY_ASSIGN(std::unique_ptr<pg::Connection> reading, pg::Connection::open(options));
  return std::unique_ptr<MovableStore>(
      std::make_unique<PostgresStore>(options, ns, std::move(writing), std::move(reading)));
}

Result<std::unique_ptr<Store>> open_postgres(const PostgresOptions& options) {
  PAWL_TRY_ASSIGN(std::unique_ptr<MovableStore> store, open_movable_postgres(options));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace pawl::store
