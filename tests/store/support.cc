#include "store/support.h"

#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <sstream>
#include <thread>

#include "store/sqlite/sqlite_store.h"
#ifdef PAWL_POSTGRES
#include "postgres/server.h"
#include "store/postgres/postgres_store.h"
#endif

namespace pawl::store {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

class SqliteBackend : public Backend {
 public:
  Result<std::unique_ptr<Store>> open(const std::string& name_space) override {
    SqliteOptions options;
    options.path = dir_.file("test.db");
    options.name_space = name_space;
    options.durability = Durability::kProcess;
    return open_sqlite(std::move(options));
  }

  Result<std::vector<std::string>> query(std::string sql) override {
    replace_all(sql, "{schema}", "");
    replace_all(sql, "{paused}", "r.paused IS NOT NULL");
    sqlite3* file = nullptr;
    std::vector<std::string> rows;
    int code = sqlite3_open(dir_.file("test.db").c_str(), &file);
    const auto add_row = [](void* to, int, char** texts, char**) {
      static_cast<std::vector<std::string>*>(to)->emplace_back(texts[0]);
      return 0;
    };
    code = code == SQLITE_OK ? sqlite3_exec(file, sql.c_str(), add_row, &rows, nullptr) : code;
    const std::string message = sqlite3_errmsg(file);
    sqlite3_close(file);
    if (code != SQLITE_OK) {
      return make_error(ErrorCode::kStoreIo, message + " in: " + sql);
    }
    return rows;
  }

 private:
  TempDir dir_;
};

#ifdef PAWL_POSTGRES
// A schema of its own for each, on one server for the whole program.
class PostgresBackend : public Backend {
 public:
  Result<std::unique_ptr<Store>> open(const std::string& name_space) override {
    PAWL_TRY_ASSIGN(PostgresOptions options, parse_postgres_url(server().url()));
    options.schema = schema_;
    options.name_space = name_space;
    return open_postgres(options);
  }
  Result<std::vector<std::string>> query(std::string sql) override {
    replace_all(sql, "{schema}", schema_ + ".");
    replace_all(sql, "{paused}", "r.paused");
    std::istringstream lines(server().query(
        "SELECT coalesce(string_agg(x::text, chr(10)), '') FROM (" + sql + ") AS q(x)"));
    std::vector<std::string> rows;
    for (std::string line; std::getline(lines, line);) {
      rows.push_back(line);
    }
    return rows;
  }
  void wait_for_waiting(int count) override {
    while (std::stoi(server().query("SELECT count(*) FROM pg_locks WHERE NOT granted")) < count) {
      std::this_thread::yield();
    }
  }
  ~PostgresBackend() override {
    server().execute("SET client_min_messages = warning; DROP SCHEMA IF EXISTS " + schema_ +
                     " CASCADE");
  }

 private:
  static pawl::testing::PostgresServer& server() {
    static pawl::testing::PostgresServer started(
        {.hba = {}, .settings = {{"deadlock_timeout", "20ms"}}});
    return started;
  }
  static int next_number() {
    static int last = 0;
    return ++last;
  }

  const std::string schema_ = "test_" + std::to_string(next_number());
};
#endif

class Fields {
 public:
  Fields& add(const char* name, std::string_view value) {
    if (!value.empty()) {
      text_ += std::string(name) + "=" + std::string(value) + " ";
    }
    return *this;
  }
  Fields& add(const char* name, std::int64_t value) {
    return value == 0 ? *this : add(name, value == kNever ? "never" : std::to_string(value));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

// In memory if possible: what is tested here is not the disk.
TempDir::TempDir() {
  const bool has_memory = std::filesystem::is_directory("/dev/shm");
  std::string pattern =
      (has_memory ? std::string("/dev/shm") : std::filesystem::temp_directory_path().string()) +
      "/pawl-store-XXXXXX";
  const char* const made = ::mkdtemp(pattern.data());
  EXPECT_NE(made, nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<BackendKind> backend_kinds() {
  std::vector<BackendKind> kinds = {{"sqlite", [] { return std::make_unique<SqliteBackend>(); }}};
#ifdef PAWL_POSTGRES
  kinds.push_back({"postgres", [] { return std::make_unique<PostgresBackend>(); }, false, true, 4});
#endif
  return kinds;
}

std::string describe(const replay::Entry& entry) {
  Fields fields;
  fields.add("seq", static_cast<std::int64_t>(entry.seq))
      .add("kind", static_cast<std::int64_t>(entry.kind))
      .add("time", entry.time_ms)
      .add("version", entry.version)
      .add("location", entry.location)
      .add("id", entry.id)
      .add("name", entry.name)
      .add("child_kind", entry.child_kind)
      .add("removed", static_cast<std::int64_t>(entry.removed))
      .add("step_key", entry.step_key)
      .add("source", entry.source)
      .add("checked", entry.checked)
      .add("has_payload", entry.has_payload ? 1 : 0)
      .add("payload", entry.payload)
      .add("number", entry.number)
      .add("digest", static_cast<std::int64_t>(entry.input_digest))
      .add("extra", entry.extra);
  if (entry.checkpoint != nullptr) {
    const replay::Checkpoint& checkpoint = *entry.checkpoint;
    fields.add("iteration", static_cast<std::int64_t>(checkpoint.iteration))
        .add("state", checkpoint.state)
        .add("done", checkpoint.done ? 1 : 0)
        .add("result", checkpoint.result);
    for (const replay::StateChange& change : checkpoint.changes) {
      fields.add("changed", change.key).add("to", change.value.value_or("(cleared)"));
    }
    for (const std::uint64_t seq : checkpoint.taken) {
      fields.add("taken", static_cast<std::int64_t>(seq));
    }
  }
  return fields.take();
}

std::string describe(const NewArrival& arrival) {
  return Fields()
      .add("kind", arrival.kind)
      .add("due", arrival.due_ms)
      .add("id", arrival.id)
      .add("location", arrival.location)
      .add("name", arrival.name)
      .add("number", arrival.number)
      .add("has_payload", arrival.has_payload ? 1 : 0)
      .add("payload", arrival.payload)
      .add("extra", arrival.extra)
      .take();
}

std::string describe(const RunRow& row) {
  return Fields()
      .add("key", row.key)
      .add("id", row.id)
      .add("number", row.number)
      .add("uuid", row.uuid.to_string())
      .add("kind", row.kind)
      .add("status", status_name(row.status))
      .add("goal", status_name(row.goal))
      .add("waiting_for", row.waiting_for)
      .add("definition", row.definition)
      .add("approved", row.is_approved ? 1 : 0)
      .add("paused", row.is_paused ? 1 : 0)
      .add("created", row.created_ms)
      .add("changed", row.changed_ms)
      .add("wake", row.wake_ms)
      .add("owner", row.owner)
      .add("epoch", row.epoch)
      .add("parent", row.parent.run)
      .add("command", row.parent.command)
      .add("close", static_cast<std::int64_t>(row.parent.close))
      .take();
}

std::string describe(const TaskRow& task) {
  return Fields()
      .add("key", task.key)
      .add("run", task.run)
      .add("run_id", task.run_id)
      .add("id", task.id)
      .add("type", task.type)
      .add("queue", task.queue)
      .add("priority", task.priority)
      .add("has_input", task.has_input ? 1 : 0)
      .add("input", task.input)
      .add("options", task.options)
      .add("wait_ms", task.wait_ms)
      .add("attempt_ms", task.attempt_ms)
      .add("heartbeat_ms", task.heartbeat_ms)
      .add("deadline", task.deadline_ms)
      .add("due", task.due_ms)
      .add("state", static_cast<std::int64_t>(task.state))
      .add("owner", task.owner)
      .add("attempt", task.attempt)
      .add("created", task.created_ms)
      .add("started", task.started_ms)
      .add("details", task.details)
      .add("last_error", task.last_error)
      .add("cancel", task.cancel_requested ? 1 : 0)
      .take();
}

std::string describe(const RunImage& image) {
  std::string text = describe(image.row) + "\ninput " + image.input + "\nreason " + image.reason +
                     "\nblocked_by " + image.blocked_by.value_or("(none)") + "\nneeds " +
                     image.needs + "\n";
  for (const Tag& tag : image.tags) {
    text += "tag " + tag.name + "=" + tag.value + "\n";
  }
  for (const StoredArrival& arrival : image.inbox) {
    text += (arrival.is_kept ? "kept " : "arrival ") + describe(arrival) + "\n";
  }
  for (const TaskRow& task : image.tasks) {
    text += "task " + describe(task) + "\n";
  }
  for (const PromiseRow& promise : image.promises) {
    text += "promise " + promise.name + (promise.is_resolved ? " resolved\n" : " open\n");
  }
  for (const CompensationRow& row : image.compensations) {
    text += "compensation " + std::to_string(row.position) + " " +
            Fields()
                .add("name", row.name)
                .add("has_input", row.has_input ? 1 : 0)
                .add("input", row.input)
                .add("state", static_cast<std::int64_t>(row.state))
                .add("attempt", row.attempt)
                .add("due", row.due_ms)
                .add("outcome", row.outcome)
                .take() +
            "\n";
  }
  for (const std::string& id : image.dedupe) {
    text += "dedupe " + id + "\n";
  }
  return text;
}

RunImage carried(RunImage image) {
  image.row.key = 0;
  image.row.owner = 0;
  image.row.wake_ms = kNever;
  image.row.epoch = 0;
  image.row.parent = {};
  for (TaskRow& task : image.tasks) {
    task.key = 0;
    task.run = 0;
    task.run_id = image.row.id;
    task.owner = 0;
    if (task.state != TaskState::kDelayed) {
      task.state = TaskState::kReady;
      task.due_ms = kNever;  // Depends on when it gets ready.
    }
  }
  return image;
}

std::string_view KeptLog::keep(std::string_view text) { return texts_.emplace_back(text); }

Result<void> KeptLog::add(const replay::Entry& entry) {
  replay::Entry& kept = entries_.emplace_back(entry);
  for (std::string_view* const text : {&kept.location, &kept.id, &kept.name, &kept.child_kind,
                                       &kept.step_key, &kept.source, &kept.payload, &kept.extra}) {
    *text = keep(*text);
  }
  if (entry.checkpoint != nullptr) {
    kept.checkpoint = &checkpoints_.emplace_back(*entry.checkpoint);
  }
  return {};
}

std::vector<std::string> log_of(Store& store, RunKey run, std::uint64_t from_seq) {
  std::vector<std::string> entries;
  const Result<void> read =
      store.read_log(run, from_seq, [&](const replay::Entry& entry) -> Result<void> {
        entries.push_back(describe(entry));
        return {};
      });
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return entries;
}

std::vector<std::uint64_t> seqs_of(Store& store, RunKey run) {
  std::vector<std::uint64_t> seqs;
  const Result<void> read = store.read_log(run, 0, [&](const replay::Entry& entry) -> Result<void> {
    seqs.push_back(entry.seq);
    return {};
  });
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return seqs;
}

std::vector<std::uint64_t> forgotten_of(Store& store, RunKey run) {
  std::vector<std::uint64_t> seqs;
  const Result<void> read =
      store.read_forgotten(run, [&](const replay::Entry& entry) -> Result<void> {
        seqs.push_back(entry.seq);
        return {};
      });
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return seqs;
}

std::vector<std::string> labels(const std::vector<Arrival>& arrivals) {
  std::vector<std::string> found;
  for (const Arrival& arrival : arrivals) {
    found.push_back(!arrival.name.empty() ? arrival.name
                    : !arrival.id.empty() ? arrival.id
                                          : arrival.location);
  }
  return found;
}

std::vector<std::string> inbox_of(Store& store, RunKey run) {
  return labels(value(store.read_inbox_of(run)));
}

}  // namespace pawl::store
