// The views for SQL (docs/sql.md), on every kind of database: what they say against what the store
// itself says, and the examples of the documentation. Which indexes they lead to, on SQLite.

#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property/rng.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"
#include "store/support.h"

namespace pawl::store {
namespace {

using property::Rng;
using replay::EntryKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using State = std::map<std::string, std::string>;

// A row as text: columns behind one another, NULL as (null).
using Rows = std::vector<std::vector<std::string>>;

class Sql {
 public:
  explicit Sql(const std::string& path) {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  }
  ~Sql() { sqlite3_close(db_); }
  Sql(const Sql&) = delete;
  Sql& operator=(const Sql&) = delete;

  Rows ask(const std::string& sql, const std::vector<std::string>& texts = {}) {
    sqlite3_stmt* statement = nullptr;
    Rows rows;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sql << ": " << sqlite3_errmsg(db_);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      sqlite3_bind_text64(statement, static_cast<int>(i) + 1, texts[i].data(), texts[i].size(),
                          SQLITE_STATIC, SQLITE_UTF8);
    }
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      std::vector<std::string>& row = rows.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const void* const bytes = sqlite3_column_blob(statement, i);
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
        row.push_back(sqlite3_column_type(statement, i) == SQLITE_NULL
                          ? "(null)"
                          : std::string(static_cast<const char*>(bytes), size));
      }
    }
    EXPECT_EQ(code, SQLITE_DONE) << sql << ": " << sqlite3_errmsg(db_);
    sqlite3_finalize(statement);
    return rows;
  }

  // What SQLite would do.
  std::string plan(const std::string& sql) {
    std::string text;
    for (const std::vector<std::string>& row : ask("EXPLAIN QUERY PLAN " + sql)) {
      text += row.at(3) + "\n";
    }
    return text;
  }

 private:
  sqlite3* db_ = nullptr;
};

std::uint64_t seed() {
  const char* const given = std::getenv("PAWL_STORE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

std::string moment(std::int64_t ms) { return ms == kNever ? "(null)" : std::to_string(ms); }
std::string or_null(const std::string& text) { return text.empty() ? "(null)" : text; }
std::string key_or_null(std::int64_t key) { return key == 0 ? "(null)" : std::to_string(key); }

// What a view shows of a payload.
std::string shown(bool has_payload, std::string_view payload) {
  const bool is_text = payload.empty() || (payload[0] != '\x01' && payload[0] != '\x02');
  return has_payload && is_text ? std::string(payload) : "(null)";
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// A query whose one column has all columns of another one, for databases that are asked by psql.
std::string in_one_column(const std::string& sql) {
  return "SELECT replace(array_to_string(ARRAY(SELECT CASE json_typeof(j.value) WHEN 'null' THEN "
         "'(null)' WHEN 'boolean' THEN j.value::text::bool::int::text ELSE j.value #>> '{}' END "
         "FROM json_each(row_to_json(t)) AS j), chr(31)), chr(10), chr(30)) FROM (" +
         sql + ") AS t";
}

class ViewsTest : public testing::TestWithParam<BackendKind> {
 protected:
  ViewsTest() {
    options_.path = dir_.file("test.db");
    options_.durability = Durability::kProcess;
    if (!is_sqlite()) {
      backend_ = GetParam().make();
    }
    store_ = open("default");
    worker_ = value(store_->add_worker({"host 'a'", 99'000, 0, R"({"kinds":{"order":"1"}})"}));
  }

  bool is_sqlite() const { return GetParam().name == "sqlite"; }
  std::unique_ptr<Store> open(const std::string& name_space) {
    if (backend_ != nullptr) {
      return value(backend_->open(name_space));
    }
    SqliteOptions options = options_;
    options.name_space = name_space;
    return value(open_sqlite(options));
  }
  // "{schema}" stands before the names of tables and views.
  Rows ask(std::string sql) {
    if (backend_ == nullptr) {
      replace_all(sql, "{schema}", "");
      return Sql(options_.path).ask(sql);
    }
    Rows rows;
    for (const std::string& line : value(backend_->query(in_one_column(sql)))) {
      std::vector<std::string>& row = rows.emplace_back();
      std::size_t begin = 0;
      for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = line.find('\x1f', begin);
        row.push_back(line.substr(begin, end - begin));
      }
    }
    return rows;
  }

  RunRow start(const std::string& id, WorkerKey owner, std::int64_t now_ms = 1000) {
    StartRun op;
    op.run = new_run(id);
    op.owner = owner;
    op.now_ms = now_ms;
    return apply(*store_, op).row;
  }
  replay::Entry set(std::uint64_t seq, std::string_view key, std::string_view to) {
    replay::Entry made = entry(seq, key, EntryKind::kStateSet);
    made.has_payload = true;
    made.payload = to;
    return made;
  }
  replay::Entry clear(std::uint64_t seq, std::string_view key) {
    return entry(seq, key, EntryKind::kStateCleared);
  }

  State state_now(RunKey run) {
    State state;
    for (const auto& row :
         ask("SELECT key, value FROM {schema}pawl_state WHERE run = " + std::to_string(run))) {
      EXPECT_TRUE(state.emplace(row[0], row[1]).second) << row[0] << " is there twice";
    }
    return state;
  }
  // As docs/sql.md says.
  State state_after(RunKey run, std::uint64_t seq) {
    State state;
    for (const auto& row :
         ask("SELECT key, value FROM (SELECT key, value, cleared, row_number() OVER (PARTITION BY "
             "key ORDER BY seq DESC) AS place FROM {schema}pawl_state_changes WHERE run = " +
             std::to_string(run) + " AND seq <= " + std::to_string(seq) +
             ") AS c WHERE place = 1 AND NOT cleared")) {
      EXPECT_TRUE(state.emplace(row[0], row[1]).second);
    }
    return state;
  }
  // By going through the log.
  State walk(RunKey run, std::uint64_t up_to = kNever) {
    State state;
    const Result<void> read =
        store_->read_log(run, 0, [&](const replay::Entry& one) -> Result<void> {
          if (one.seq > up_to) {
            return {};
          }
          if (one.kind == EntryKind::kStateSet) {
            state[std::string(one.name)] = shown(one.has_payload, one.payload);
          } else if (one.kind == EntryKind::kStateCleared) {
            state.erase(std::string(one.name));
          } else if (one.checkpoint != nullptr) {
            for (const replay::StateChange& change : one.checkpoint->changes) {
              state.erase(change.key);
              if (change.value.has_value()) {
                state[change.key] = shown(true, *change.value);
              }
            }
          }
          return {};
        });
    EXPECT_TRUE(read.has_value());
    return state;
  }

  TempDir dir_;
  SqliteOptions options_;
  std::unique_ptr<Backend> backend_;  // None: the file that options_ names.
  std::unique_ptr<Store> store_;
  WorkerKey worker_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Backends, ViewsTest, testing::ValuesIn(backend_kinds()), kind_name);

const std::vector<std::string> kTexts = {"a", "b'\"", "\xc3\xa4", "x y", "{}"};
const std::vector<std::string> kPayloads = {R"({"a":1})", "\"text\"",   "null",
                                            "",           "\x01 bytes", "\x02 encoded"};

TEST_P(ViewsTest, SayWhatTheStoreSays) {
  const std::uint64_t first = seed();
  SCOPED_TRACE("PAWL_STORE_SEED=" + std::to_string(first));
  Rng rng(first);
  const std::unique_ptr<Store> shop = open("shop");
  std::map<std::string, Store*> stores = {{"default", store_.get()}, {"shop", shop.get()}};
  for (auto& [name_space, store] : stores) {
    const WorkerKey worker =
        name_space == "default" ? worker_ : value(store->add_worker({"theirs", kNever, 0}));
    RunKey parent = 0;
    for (int i = 0; i < 12; ++i) {
      StartRun begin;
      begin.run = new_run(rng.pick(kTexts), rng.chance(50) ? "order" : "mail");
      begin.run.input = rng.pick(kPayloads);
      begin.run.definition = rng.chance(50) ? "print" : "";
      for (int tags = rng.between(0, 3); tags > 0; --tags) {
        begin.run.tags.push_back({rng.pick(kTexts), rng.pick(kTexts)});
      }
      begin.on_existing = OnExisting::kReplace;
      begin.owner = rng.chance(80) ? worker : 0;
      begin.now_ms = 1000 + i;
      const RunRow run = apply(*store, begin).row;
      if (run.owner == 0) {
        continue;
      }
      CommitTurn step;
      step.run = run.key;
      step.worker = run.owner;
      step.epoch = run.epoch;
      step.now_ms = 2000 + i;
      for (std::uint64_t seq = 1; seq <= rng.below(8); ++seq) {
        const std::vector<EntryKind> kinds = {EntryKind::kTaskScheduled, EntryKind::kStateSet,
                                              EntryKind::kStateCleared, EntryKind::kSignalReceived,
                                              EntryKind::kLoopStarted};
        replay::Entry one = entry(seq, rng.pick(kTexts), rng.pick(kinds));
        one.id = rng.chance(50) ? "11111111-2222-5333-8444-555555555555" : "text";
        one.location = rng.chance(50) ? "{1}" : "";
        one.source = rng.chance(50) ? "a.cc:1" : "";
        one.has_payload = rng.chance(70);
        one.payload = one.has_payload ? std::string_view(rng.pick(kPayloads)) : "";
        step.entries.push_back(one);
      }
      for (int tasks = rng.between(0, 2); tasks > 0; --tasks) {
        NewTask& task = step.tasks.emplace_back();
        task.id = "task " + std::to_string(tasks);
        task.type = rng.pick(kTexts);
        task.queue = rng.pick(kTexts);
        task.priority = rng.between(-1, 1);
        task.due_ms = rng.chance(50) ? kNever : 5000;
      }
      for (int arrivals = rng.between(0, 2); arrivals > 0; --arrivals) {
        NewArrival& arrival = step.arrivals.emplace_back(signal(rng.pick(kTexts)));
        arrival.kind = rng.chance(20) ? kRetryOperation : arrival.kind;
        arrival.due_ms = rng.chance(50) ? 0 : 7000;
        arrival.has_payload = rng.chance(70);
        arrival.payload = arrival.has_payload ? rng.pick(kPayloads) : "";
      }
      if (parent != 0 && rng.chance(30)) {
        step.children = {new_run("child " + std::to_string(i))};
        step.children[0].parent = {run.key, "c", ParentClose::kAbandon};
      }
      step.release = rng.chance(50);
      step.status = rng.chance(30) ? RunStatus::kBlocked : RunStatus::kWaiting;
      step.waiting_for = "signal go";
      step.reason = step.status == RunStatus::kBlocked ? "why" : "";
      step.wake_ms = 9000;
      ASSERT_TRUE(apply(*store, step).committed);
      parent = run.key;
      if (rng.chance(30)) {
        Pause pause;
        pause.run = run.key;
        apply(*store, pause);
      }
      TakeTasks take;
      take.queue = rng.pick(kTexts);
      take.types = kTexts;
      take.worker = worker;
      take.limit = 1;
      take.now_ms = 3000;
      for (const TaskRow& task : apply(*store, take).taken) {
        ChangeTask failed;
        failed.task = task.key;
        failed.state = task.state;
        failed.attempt = task.attempt;
        failed.next = rng.chance(50) ? TaskState::kDelayed : TaskState::kRunning;
        failed.due_ms = 8000;
        failed.last_error = rng.pick(kPayloads);
        apply(*store, failed);
      }
    }
  }

  std::multiset<std::vector<std::string>> runs;
  std::multiset<std::vector<std::string>> tags;
  std::multiset<std::vector<std::string>> history;
  std::multiset<std::vector<std::string>> states;
  std::multiset<std::vector<std::string>> tasks;
  std::multiset<std::vector<std::string>> inboxes;
  std::multiset<std::vector<std::string>> workers;
  for (auto& [name_space, store] : stores) {
    std::map<WorkerKey, std::string> names = {{0, "(null)"}};
    for (const WorkerRow& row : value(store->catalog().list_workers())) {
      names[row.key] = row.name;
      workers.insert({name_space, std::to_string(row.key), row.name, moment(row.expires_ms),
                      or_null(row.serves), std::to_string(row.runs), std::to_string(row.tasks)});
    }
    for (const RunRow& row : value(store->catalog().list_runs({}, {}, 1000)).rows) {
      const std::string key = std::to_string(row.key);
      const std::string number = std::to_string(row.number);
      const RunImage image = value(store->catalog().read_image(row.key));
      const std::optional<RunRow> parent = value(store->find_run(row.parent.run));
      runs.insert({name_space,
                   key,
                   row.id,
                   number,
                   row.uuid.to_string(),
                   row.kind,
                   std::string(status_name(row.status)),
                   row.is_paused ? "1" : "0",
                   or_null(row.waiting_for),
                   or_null(row.definition),
                   std::to_string(row.created_ms),
                   std::to_string(row.changed_ms),
                   is_closed(row.status) ? std::to_string(row.changed_ms) : "(null)",
                   moment(row.wake_ms),
                   key_or_null(row.owner),
                   names.at(row.owner),
                   key_or_null(row.parent.run),
                   parent.has_value() ? parent->id : "(null)",
                   or_null(image.reason),
                   shown(!image.input.empty(), image.input)});
      for (const Tag& tag : image.tags) {
        tags.insert({name_space, key, row.id, number, tag.name, tag.value});
      }
      ASSERT_TRUE(store->read_log(row.key, 0, [&](const replay::Entry& one) -> Result<void> {
        history.insert({name_space, key, row.id, number, std::to_string(one.seq),
                        std::to_string(one.time_ms), std::string(replay::traits(one.kind).event),
                        or_null(std::string(one.location)), or_null(std::string(one.id)),
                        or_null(std::string(one.name)), std::to_string(one.version),
                        or_null(std::string(one.source)), shown(one.has_payload, one.payload)});
        return {};
      }));
      if (name_space == "default") {
        for (const auto& [name, text] : walk(row.key)) {
          states.insert({name_space, key, row.id, number, name, text});
        }
        for (std::uint64_t seq = 0; seq < 8; ++seq) {
          EXPECT_EQ(state_after(row.key, seq), walk(row.key, seq));
        }
      }
      for (const TaskRow& task : image.tasks) {
        tasks.insert(
            {name_space, std::to_string(task.key), key, row.id, number, task.queue, task.type,
             task.state == TaskState::kReady     ? "ready"
             : task.state == TaskState::kDelayed ? "delayed"
                                                 : "running",
             std::to_string(task.priority), std::to_string(task.attempt), key_or_null(task.owner),
             names.at(task.owner), std::to_string(task.created_ms), key_or_null(task.started_ms),
             moment(task.due_ms),
             task.last_error.empty() ? "(any)" : shown(true, task.last_error)});
      }
      for (const Arrival& arrival : value(store->read_inbox_of(row.key))) {
        inboxes.insert({name_space, key, row.id, number, std::to_string(arrival.key),
                        arrival.kind == kRetryOperation ? "OperationRetry" : "SignalReceived",
                        or_null(arrival.name), std::to_string(arrival.due_ms), "0",
                        shown(arrival.has_payload, arrival.payload)});
      }
    }
  }
  const auto all = [&](const std::string& query) {
    const Rows rows = ask(query);
    return std::multiset<std::vector<std::string>>(rows.begin(), rows.end());
  };
  EXPECT_EQ(all("SELECT * FROM {schema}pawl_runs"), runs);
  EXPECT_EQ(all("SELECT * FROM {schema}pawl_tags"), tags);
  EXPECT_EQ(all("SELECT * FROM {schema}pawl_history"), history);
  EXPECT_EQ(all("SELECT namespace, run, id, number, key, value FROM {schema}pawl_state WHERE "
                "namespace = 'default'"),
            states);
  // An empty error and none are the same to the store.
  EXPECT_EQ(
      all("SELECT namespace, task, run, id, number, queue, type, state, priority, attempt, "
          "worker, worker_name, created_ms, started_ms, due_ms, CASE WHEN task IN (SELECT "
          "key FROM {schema}pawl_task WHERE length(coalesce(last_error, '')) = 0) THEN '(any)' "
          "ELSE last_error END FROM {schema}pawl_tasks"),
      tasks);
  EXPECT_EQ(all("SELECT * FROM {schema}pawl_inboxes"), inboxes);
  EXPECT_EQ(all("SELECT * FROM {schema}pawl_workers"), workers);
}

// The words of the views are those of the program.
TEST_P(ViewsTest, NameAllEventsAndStatuses) {
  std::map<std::string, std::string> events;
  for (int kind = 0; kind < 256; ++kind) {
    if (const auto* known = replay::find_traits(static_cast<EntryKind>(kind))) {
      events[std::to_string(kind)] = known->event;
    }
  }
  std::map<std::string, std::string> named;
  for (const auto& row : ask("SELECT kind, name FROM {schema}pawl_event_name")) {
    named[row[0]] = row[1];
  }
  EXPECT_EQ(named, events);
  for (const auto& row : ask("SELECT status, name FROM {schema}pawl_status_name")) {
    EXPECT_EQ(status_name(static_cast<RunStatus>(std::stoi(row[0]))), row[1]);
  }
}

// Loops that forget: the state now, and after every entry that is still known of, is what all the
// changes together say.
TEST_P(ViewsTest, StateSurvivesWhatLoopsForget) {
  const std::uint64_t first = seed();
  SCOPED_TRACE("PAWL_STORE_SEED=" + std::to_string(first));
  Rng rng(first);
  const RunRow run = start("order-17", worker_);
  const std::vector<std::string> keys = {"x", "y", "z", "once"};
  std::map<std::uint64_t, State> states;  // After each entry.
  State state;
  std::uint64_t seq = 0;
  CommitTurn before = turn_of(run);
  before.entries = {set(++seq, "x", "0")};
  state["x"] = "0";
  states[seq] = state;
  before.entries.push_back(entry(++seq, "", EntryKind::kLoopStarted));
  before.entries.back().location = "{1}";
  states[seq] = state;
  ASSERT_TRUE(apply(*store_, before).committed);
  std::vector<std::uint64_t> to_forget;
  std::set<std::string> touched;
  std::vector<std::uint64_t> checkpoints;
  for (std::uint64_t iteration = 1; iteration <= 300; ++iteration) {
    CommitTurn op = turn_of(run);
    std::vector<std::string> texts(4);
    for (int i = rng.between(0, 3); i > 0; --i) {
      const std::string& key = iteration == 5 && i == 1 ? keys[3] : keys[rng.below(3)];
      touched.insert(key);
      if (rng.chance(70)) {
        std::string& text = texts[static_cast<std::size_t>(i)];
        text = std::to_string(iteration * 10 + static_cast<std::uint64_t>(i));
        op.entries.push_back(set(++seq, key, text));
        state[key] = text;
      } else {
        op.entries.push_back(clear(++seq, key));
        state.erase(key);
      }
      to_forget.push_back(seq);
      states[seq] = state;
    }
    replay::Checkpoint checkpoint;
    if (iteration % 20 == 0) {
      checkpoint.iteration = iteration;
      for (const std::string& key : touched) {
        const auto found = state.find(key);
        if (found != state.end() || key == "x") {  // Made and cleared inside: no trace.
          checkpoint.changes.push_back(
              {key, found == state.end() ? std::nullopt : std::optional(found->second)});
        }
      }
      op.forgotten = to_forget;
      replay::Entry done = entry(++seq, "", EntryKind::kLoopCheckpointed);
      done.location = "{1}";
      done.checkpoint = &checkpoint;
      op.entries.push_back(done);
      to_forget = {seq};
      checkpoints.push_back(seq);
      states[seq] = state;
    }
    ASSERT_TRUE(apply(*store_, op).committed);
    EXPECT_EQ(walk(run.key), state) << iteration;
    if (is_sqlite() || iteration % 20 <= 1) {
      EXPECT_EQ(state_now(run.key), state) << iteration;
    }
  }
  // Of the last hundred iterations, and those between two checkpoints before them.
  const std::uint64_t known_from = checkpoints.at(checkpoints.size() - 6);
  for (std::uint64_t at = known_from; at <= seq; at += is_sqlite() ? 1 : 7) {
    ASSERT_EQ(state_after(run.key, at), states[at]) << at;
  }
  EXPECT_EQ(state_after(run.key, 2), states[2]);
  // What is kept does not pile up.
  const Rows kept = ask("SELECT count(DISTINCT seq) FROM {schema}pawl_kept_state");
  EXPECT_LE(std::stoi(kept[0][0]), 7);
  // Nothing is left of a run that is gone.
  CommitTurn over = turn_of(run);
  over.ending = Ending{};
  over.ending->status = RunStatus::kCompleted;
  ASSERT_TRUE(apply(*store_, over).committed);
  DeleteRun gone;
  gone.run = run.key;
  ASSERT_EQ(apply(*store_, gone).outcome, DeleteRun::Outcome::kDeleted);
  EXPECT_THAT(ask("SELECT * FROM {schema}pawl_state_changes"), testing::IsEmpty());
}

TEST_P(ViewsTest, AreAskedByIndexes) {
  if (!is_sqlite()) {
    return;  // The server decides by what is in the tables.
  }
  Sql sql(options_.path);
  for (const char* const view : {"pawl_runs", "pawl_tags", "pawl_history", "pawl_state",
                                 "pawl_state_changes", "pawl_tasks", "pawl_inboxes"}) {
    for (const char* const column : {"id", "run"}) {
      const std::string plan =
          sql.plan("SELECT * FROM " + std::string(view) + " WHERE " + column + " = 17");
      EXPECT_THAT(plan, Not(HasSubstr("SCAN"))) << view << " by " << column;
      // Not one that leads to the whole namespace.
      EXPECT_THAT(plan, Not(HasSubstr("(ns=?)"))) << view << " by " << column;
    }
  }
  for (const char* const query :
       {"SELECT * FROM pawl_state WHERE key = 'stage'",
        "SELECT * FROM pawl_state_changes WHERE key = 'stage'",
        "SELECT * FROM pawl_tags WHERE name = 'customer' AND value = '4711'",
        "SELECT * FROM pawl_runs WHERE kind = 'order'",
        "SELECT * FROM pawl_tasks WHERE task = 5"}) {
    EXPECT_THAT(sql.plan(query), Not(HasSubstr("SCAN"))) << query;
    EXPECT_THAT(sql.plan(query), Not(HasSubstr("(ns=?)"))) << query;
  }
}

// Every example of the documentation is run, and finds something.
TEST_P(ViewsTest, TheExamplesOfTheDocumentationWork) {
  StartRun begin;
  begin.run = new_run("order-17");
  begin.run.input = R"({"item":"lamp"})";
  begin.run.tags = {{"customer", "4711"}};
  begin.owner = worker_;
  begin.now_ms = 1'700'000'000'000;
  const RunRow run = apply(*store_, begin).row;
  CommitTurn op = turn_of(run);
  op.entries = {set(1, "stage", "\"new\""),
                set(2, "note", "1"),
                clear(3, "note"),
                set(4, "stage", "\"packed\""),
                entry(5, "charge", EntryKind::kTaskScheduled),
                entry(6, "", EntryKind::kTaskCompleted)};
  op.entries[4].id = op.entries[5].id = "11111111-2222-5333-8444-555555555555";
  op.tasks.emplace_back();
  op.tasks[0].type = "ship";
  op.tasks[0].queue = "parcels";
  op.arrivals = {signal("hurry", "true")};
  ASSERT_TRUE(apply(*store_, op).committed);
  const RunRow failed = start("order-18", worker_);
  CommitTurn end = turn_of(failed);
  end.ending = Ending{};
  end.ending->status = RunStatus::kFailed;
  end.reason = "no lamps";
  ASSERT_TRUE(apply(*store_, end).committed);
  Pause hold;
  hold.run_id = "order-17";
  apply(*store_, hold);

  std::ifstream file(PAWL_SQL_DOCUMENT);
  ASSERT_TRUE(file.is_open()) << PAWL_SQL_DOCUMENT;
  std::vector<std::string> examples;
  std::string line;
  bool is_inside = false;
  while (std::getline(file, line)) {
    if (line == "```sql") {
      examples.emplace_back();
      is_inside = true;
    } else if (line == "```postgresql") {
      is_inside = !is_sqlite();
      examples.back() = is_inside ? "" : examples.back();  // Instead of the one before.
    } else if (line == "```") {
      is_inside = false;
    } else if (is_inside) {
      examples.back() += line + "\n";
    }
  }
  ASSERT_GE(examples.size(), 12U);
  for (std::string& example : examples) {
    example = std::regex_replace(example, std::regex("\\b(pawl_[a-z_]+)"), "{schema}$1");
    example.resize(example.rfind(';'));
    EXPECT_FALSE(ask(example).empty()) << example;
  }
  EXPECT_THAT(ask(examples[0]), ElementsAre(ElementsAre("stage", "\"packed\"")));
  EXPECT_THAT(ask(examples[1]), ElementsAre(ElementsAre("stage", "\"packed\"")));
  EXPECT_EQ(ask(examples[2]).at(0).at(0), "order-17");
  EXPECT_THAT(ask(examples[3]), ElementsAre(ElementsAre("order-17", "charge", "10")));
  EXPECT_EQ(ask(examples[4]).size(), 6U);
  EXPECT_THAT(ask(examples[8]), ElementsAre(ElementsAre("order-18", "(null)", "no lamps")));
  // Those about one run, one key or one tag go by indexes.
  for (const std::size_t i : {0U, 1U, 2U, 4U, 6U}) {
    if (!is_sqlite()) {
      break;
    }
    replace_all(examples[i], "{schema}", "");
    const std::string plan = Sql(options_.path).plan(examples[i]);
    for (const char* const bad : {"SCAN r", "SCAN l", "SCAN t", "SCAN s", "(ns=?)"}) {
      EXPECT_THAT(plan, Not(HasSubstr(bad))) << examples[i];
    }
  }
  // All columns that it names are there.
  for (const auto& [view, columns] : std::map<std::string, std::string>{
           {"pawl_runs",
            "namespace, run, id, number, run_id, kind, status, paused, waiting_for, "
            "definition, started_ms, changed_ms, ended_ms, wake_ms, worker, "
            "worker_name, parent_run, parent_id, reason, input"},
           {"pawl_tags", "namespace, run, id, number, name, value"},
           {"pawl_history",
            "namespace, run, id, number, seq, at_ms, event, location, command_id, "
            "name, version, source, payload"},
           {"pawl_state", "namespace, run, id, number, key, value, seq"},
           {"pawl_state_changes", "namespace, run, id, number, seq, key, value, cleared"},
           {"pawl_tasks",
            "namespace, task, run, id, number, queue, type, state, priority, "
            "attempt, worker, worker_name, created_ms, started_ms, due_ms, "
            "last_error"},
           {"pawl_inboxes",
            "namespace, run, id, number, arrival, event, name, due_ms, kept, "
            "payload"},
           {"pawl_workers", "namespace, worker, name, expires_ms, serves, runs, tasks"}}) {
    ask("SELECT " + columns + " FROM {schema}" + view);
  }
}

// --- From the schema before ----------------------------------------------------------------------

// A file of schema 4 with open runs, tags, children and a loop's checkpoint.
TEST(ViewsMigration, BringsAllThatWasThere) {
  const TempDir dir;
  SqliteOptions options;
  options.path = dir.file("old.db");
  const std::string checkpoint = std::string("\x01\x14\x00", 3) + std::string("\x02", 1) +
                                 std::string("\x01x\x01\x01", 4) + "5" +
                                 std::string("\x01y\x00\x00", 4) + std::string("\x00\x00\x00", 3);
  {
    const std::unique_ptr<Connection> connection =
        value(Connection::open({options.path, "", 0, Access::kCreate}));
    ASSERT_TRUE(migrate(*connection, schema_steps().first(4), 0).has_value());
    ASSERT_TRUE(
        connection
            ->execute(
                "INSERT INTO pawl_namespace VALUES(0, 'default'), (1, 'shop');"
                "INSERT INTO pawl_run(ns, epoch, status, wake, number, created, changed, uuid, id, "
                "kind, parent, parent_close, parent_command) VALUES"
                "(0, 3, 2, NULL, 1, 10, 20, zeroblob(16), 'parent', 'order', NULL, NULL, NULL),"
                "(0, 0, 1, 30, 1, 30, 30, zeroblob(16), 'child', 'mail', 1, 1, 'command'),"
                "(0, 4, 4, NULL, 1, 30, 90, zeroblob(16), 'done', 'order', 1, 1, 'command 2'),"
                "(1, 0, 1, 40, 1, 40, 40, zeroblob(16), 'parent', 'order', NULL, NULL, NULL);"
                "INSERT INTO pawl_tag VALUES(0, 1, 'color', 'red'), (0, 2, 'color', 'red'), "
                "(0, 3, 'color', 'blue'), (1, 4, 'color', 'red');"
                "INSERT INTO pawl_log(run, seq, ns, kind, time, version, name, payload) VALUES"
                "(1, 1, 0, 8, 10, 1, 'x', CAST('1' AS BLOB)), (1, 2, 0, 8, 10, 1, 'y', "
                "CAST('2' AS BLOB)), (1, 3, 0, 8, 10, 1, 'z', CAST('3' AS BLOB));"
                "INSERT INTO pawl_worker(ns, expires, locked, name) VALUES(0, 5, 0, 'old')")
            .has_value());
    Statement add(*connection,
                  "INSERT INTO pawl_log(run, seq, ns, kind, time, version, checkpoint) "
                  "VALUES(1, 9, 0, 64, 10, 1, ?)");
    ASSERT_TRUE(Query(add).blob(checkpoint).run().has_value());
    Statement damaged(*connection,
                      "INSERT INTO pawl_log(run, seq, ns, kind, time, version, checkpoint) "
                      "VALUES(4, 1, 1, 64, 10, 1, ?)");
    ASSERT_TRUE(Query(damaged).blob("damaged").run().has_value());
  }
  const std::unique_ptr<Store> store = value(open_sqlite(options));
  Catalog& catalog = store->catalog();
  const auto list = [&](const RunFilter& filter) {
    std::vector<std::string> ids;
    for (const RunRow& row : value(catalog.list_runs(filter, {}, 10)).rows) {
      EXPECT_FALSE(row.is_paused);
      ids.push_back(row.id);
    }
    return ids;
  };
  EXPECT_THAT(list({}), ElementsAre("done", "child", "parent"));
  RunFilter red;
  red.tags = {{"color", "red"}};
  EXPECT_THAT(list(red), ElementsAre("child", "parent"));
  red.created_from_ms = 30;
  EXPECT_THAT(list(red), ElementsAre("child"));
  RunFilter children;
  children.parent = 1;
  EXPECT_THAT(list(children), ElementsAre("done", "child"));
  EXPECT_EQ(value(store->read_children(1)).size(), 1U);
  const std::vector<ClosedRun> closed =
      value(catalog.find_closed(RunStatus::kCompleted, kNever, {}, 5));
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].changed_ms, 90);
  EXPECT_EQ(value(catalog.list_workers()).at(0).serves, "");
  Sql sql(options.path);
  EXPECT_THAT(sql.ask("SELECT key, value FROM pawl_state WHERE run = 1 ORDER BY key"),
              ElementsAre(ElementsAre("x", "5"), ElementsAre("z", "3")));
  EXPECT_EQ(sql.ask("SELECT parent_id FROM pawl_runs WHERE id = 'child'").at(0).at(0), "parent");
  EXPECT_EQ(sql.ask("SELECT count(*) FROM pawl_runs WHERE id = 'parent'").at(0).at(0), "2");
  // Work goes on.
  ClaimDue claim;
  claim.kinds = {"mail"};
  claim.worker = value(store->add_worker({"worker", kNever, 0}));
  claim.limit = 5;
  claim.now_ms = 50;
  claim = apply(*store, claim);
  ASSERT_EQ(claim.claims.size(), 1U);
  CommitTurn over;
  over.run = claim.claims[0].run;
  over.worker = claim.worker;
  over.epoch = claim.claims[0].row.epoch;
  over.now_ms = 60;
  over.ending = Ending{};
  over.ending->status = RunStatus::kCompleted;
  over.ending->for_parent = NewArrival{};
  EXPECT_TRUE(apply(*store, over).committed);
  EXPECT_EQ(value(store->read_inbox_of(1)).size(), 1U);
}

}  // namespace
}  // namespace pawl::store
