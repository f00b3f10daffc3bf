// What the engine makes of a store that fails: it says so, nothing half is seen, and it goes on
// when the store does.
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/step_program.h"
#include "engine/thread_environment.h"
#include "engine/world.h"
#include "faults/fault_vfs.h"

namespace pawl::engine {
namespace {

using faults::Fault;
using replay::CommandKind;
using testing::Contains;
using testing::HasSubstr;

// What the engine told about errors. Any thread.
class Errors {
 public:
  void add(const Error& error, std::string_view what) {
    const std::scoped_lock lock(mutex_);
    codes_.insert(error.code);
    texts_.push_back(std::string(what) + ": " + error.message);
  }
  std::set<ErrorCode> codes() const {
    const std::scoped_lock lock(mutex_);
    return codes_;
  }
  std::vector<std::string> texts() const {
    const std::scoped_lock lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::set<ErrorCode> codes_;
  std::vector<std::string> texts_;
};

struct Place {
  std::string path;
  std::string vfs = {};
  std::int64_t busy_timeout_ms = 10'000;
};

Result<std::shared_ptr<store::Store>> open_at(const Place& place) {
  store::SqliteOptions options;
  options.path = place.path;
  options.vfs = place.vfs;
  options.busy_timeout_ms = place.busy_timeout_ms;
  auto opened = store::open_sqlite(options);
  if (!opened) {
    return opened.error();
  }
  return std::shared_ptr<store::Store>(*std::move(opened));
}

// An engine on a database, in whatever environment, with calls that are answered at once.
class Rig {
 public:
  Rig(std::shared_ptr<store::Store> opened, std::shared_ptr<Environment> environment,
      std::vector<Definition> definitions, std::vector<ActivityType> activities = {})
      : store(std::move(opened)), env(std::move(environment)) {
    EngineOptions options;
    options.on_error = [this](const Error& error, std::string_view what) {
      errors.add(error, what);
    };
    auto made = Engine::create(options, store, env, std::move(definitions), std::move(activities));
    PAWL_CHECK(made.has_value());
    engine = *std::move(made);
    started = engine->start();
  }
  ~Rig() { engine->stop(); }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  Result<StartedRun> start(const std::string& id, const std::string& input = "null") {
    StartRequest request;
    request.kind = "w";
    request.id = id;
    request.input = input;
    return await<StartedRun>(
        [&](Callback<StartedRun> done) { engine->start_run(request, std::move(done)); });
  }
  Result<bool> signal(const std::string& id, const std::string& name) {
    return await<bool>(
        [&](Callback<bool> done) { engine->signal(id, name, "1", "", "", std::move(done)); });
  }
  Result<RunOutcome> outcome(const std::string& id, std::int64_t timeout_ms = 30'000) {
    return await<RunOutcome>([&](Callback<RunOutcome> done) { engine->wait(id, std::move(done)); },
                             timeout_ms);
  }
  template <class T, class Call>
  Result<T> await(const Call& call, std::int64_t timeout_ms = 30'000) {
    struct Answer {
      Latch latch;
      std::mutex mutex;
      Result<T> result = make_error(ErrorCode::kTimedOut, "nothing was answered");
    };
    auto answer = std::make_shared<Answer>();
    call([answer](Result<T> result) {
      {
        const std::scoped_lock lock(answer->mutex);
        answer->result = std::move(result);
      }
      answer->latch.set();
    });
    env->wait(answer->latch, timeout_ms);
    const std::scoped_lock lock(answer->mutex);
    return answer->result;
  }

  Errors errors;
  std::shared_ptr<store::Store> store;
  std::shared_ptr<Environment> env;
  std::unique_ptr<Engine> engine;
  Result<void> started;
};

ActivityBody counts(std::shared_ptr<int> count, int failures = 0) {
  return [count = std::move(count), failures](ActivityAttempt&) {
    ActivityOutcome outcome;
    outcome.ok = ++*count > failures;
    outcome.result = "1";
    outcome.failure.type = "Oops";
    return outcome;
  };
}

Step transact_step(std::string name) {
  return [name = std::move(name)](RunHost& host) -> replay::FutureId {
    replay::CommandRequest request;
    request.kind = CommandKind::kOperation;
    request.name = name;
    const auto opened = host.machine().open(request);
    if (opened && opened->must_execute) {
      host.transact(opened->future,
                    [](store::Database& database) {
                      sqlite3_exec(
                          static_cast<sqlite3*>(database.handle()),
                          "CREATE TABLE IF NOT EXISTS effect(x); INSERT INTO effect VALUES(1)",
                          nullptr, nullptr, nullptr);
                      return ActivityOutcome{true, "1", {}};
                    },
                    {});
    }
    return opened ? opened->future : 0;
  };
}

// Goes on at once: its entry belongs to the turn that came here.
Step set_step(std::string name) {
  return [name = std::move(name)](RunHost& host) -> replay::FutureId {
    replay::CommandRequest request;
    request.kind = CommandKind::kState;
    request.name = name;
    request.has_payload = true;
    request.payload = "1";
    static_cast<void>(host.machine().open(request));
    return 0;
  };
}

int effects_in(const std::string& path) {
  int count = -1;
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READONLY, "unix") == SQLITE_OK) {
    sqlite3_exec(
        db, "SELECT count(*) FROM effect",
        [](void* out, int, char** values, char**) {
          *static_cast<int*>(out) = std::stoi(values[0]);
          return 0;
        },
        &count, nullptr);
  }
  sqlite3_close(db);
  return count;
}

std::vector<std::string> log_of(store::Store& store, const std::string& id) {
  std::vector<std::string> lines;
  const auto row = store.find_run(id, std::nullopt);
  PAWL_CHECK(row.has_value());
  if (*row) {
    const auto read =
        store.read_log((*row)->key, 1, [&](const replay::Entry& entry) -> Result<void> {
          lines.push_back(std::string(replay::traits(entry.kind).event) + " " +
                          std::string(entry.location) + " " + std::string(entry.name));
          return {};
        });
    PAWL_CHECK(read.has_value());
  }
  return lines;
}

// --- Errors of writes ----------------------------------------------------------------------------

// A workflow with a bit of everything, and what can be seen of its log while it runs.
class Trial {
 public:
  explicit Trial(std::optional<std::pair<std::uint64_t, Fault>> fault) {
    RetryPolicy retry;
    retry.attempts = 2;
    ActivityType charge{"charge", counts(tasks_, 1), {}};
    TaskOptions task_options;
    task_options.retry.attempts = 2;
    const Step task = task_step("charge", task_options);
    faults::register_fault_vfs();
    const std::string path = dir_.file("trial.db");
    // Readers do not write: what they see is what anybody sees.
    auto opened = open_at({path, faults::kFaultVfs});
    auto looking = open_at({path});
    PAWL_CHECK(opened.has_value() && looking.has_value());
    auto env = std::make_shared<SimEnvironment>(1);
    Rig rig(*opened, env,
            {step_workflow(
                "w", {set_step("u"), run_step("a", counts(operations_)), set_step("v"),
                      set_step("w"), run_step("b", counts(retried_, 1), retry), set_step("x"),
                      plain_step(CommandKind::kTimer, "", 1000), set_step("y"), transact_step("c"),
                      task, run_step("d", counts(operations_)), set_step("end")})},
            {charge});
    PAWL_CHECK(rig.started.has_value());
    env->run_ready();
    faults::reset_boundaries();
    if (fault) {
      faults::fail_boundaries(fault->first, fault->first + 2, fault->second);
    }
    while (!rig.start("r").has_value()) {
      ++refused_starts;
    }
    const auto answer = std::make_shared<std::string>();
    rig.engine->wait("r", [answer](const Result<RunOutcome>& outcome) {
      *answer = outcome ? std::string(store::status_name(outcome->status)) : "error";
    });
    for (int pauses = 0; answer->empty() && pauses < 1000;) {
      look(**looking);
      if (!env->step()) {
        env->run_until(env->next_alarm_ms());
        ++pauses;
      }
    }
    look(**looking);
    outcome = *answer;
    failures = faults::failure_count();
    boundaries = faults::boundary_count();
    faults::fail_nothing();
    codes = rig.errors.codes();
    texts = rig.errors.texts();
    effects = effects_in(path);
  }

  int executions() const { return *operations_ + *retried_ + *tasks_; }

  std::string outcome;
  int refused_starts = 0;
  std::set<ErrorCode> codes;
  std::vector<std::string> texts;
  std::uint64_t failures = 0;
  std::uint64_t boundaries = 0;
  int effects = 0;
  std::vector<std::vector<std::string>> seen;  // Logs, each once.

 private:
  void look(store::Store& store) {
    std::vector<std::string> log = log_of(store, "r");
    if (seen.empty() || seen.back() != log) {
      seen.push_back(std::move(log));
    }
  }

  TempDir dir_;
  std::shared_ptr<int> operations_ = std::make_shared<int>(0);
  std::shared_ptr<int> retried_ = std::make_shared<int>(0);
  std::shared_ptr<int> tasks_ = std::make_shared<int>(0);
};

// Turns are seen whole, and in order: what follows from something is never missing when it is
// there.
void expect_whole_turns(const std::vector<std::vector<std::string>>& seen,
                        const std::vector<std::string>& last) {
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), last);
  for (const std::vector<std::string>& log : seen) {
    ASSERT_LE(log.size(), last.size());
    EXPECT_TRUE(std::equal(log.begin(), log.end(), last.begin()));
    if (!log.empty() && log.size() < last.size()) {
      EXPECT_FALSE(last[log.size()].starts_with("StateSet") ||
                   last[log.size()].starts_with("TimerStarted") ||
                   last[log.size()].starts_with("WorkflowCompleted"))
          << "half a turn, up to " << log.back();
    }
  }
}

class FailingWrites : public testing::TestWithParam<Fault> {};

TEST_P(FailingWrites, AreToldAndTriedAgain) {
  const Trial reference(std::nullopt);
  ASSERT_EQ(reference.outcome, "completed");
  ASSERT_EQ(reference.effects, 1);
  ASSERT_TRUE(reference.texts.empty()) << reference.texts[0];
  std::uint64_t reached = 0;
  for (std::uint64_t boundary = 1; boundary <= reference.boundaries; ++boundary) {
    SCOPED_TRACE("boundary " + std::to_string(boundary));
    const Trial trial(std::pair(boundary, GetParam()));
    EXPECT_EQ(trial.outcome, "completed");
    EXPECT_EQ(trial.effects, 1);
    EXPECT_EQ(trial.executions(), reference.executions());
    expect_whole_turns(trial.seen, reference.seen.back());
    if (trial.failures > 0) {
      ++reached;
      EXPECT_TRUE(trial.refused_starts > 0 || !trial.texts.empty()) << "nobody was told";
    }
    for (const ErrorCode code : trial.codes) {
      EXPECT_TRUE(code == ErrorCode::kStoreIo ||
                  (code == ErrorCode::kStoreFull && GetParam() == Fault::kFull))
          << trial.texts[0];
    }
    for (const std::string& text : trial.texts) {
      EXPECT_THAT(text, HasSubstr("trial.db"));
    }
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(reached, reference.boundaries / 2);
  std::printf("%llu boundaries, %llu of them failed\n",
              static_cast<unsigned long long>(reference.boundaries),
              static_cast<unsigned long long>(reached));
}

INSTANTIATE_TEST_SUITE_P(All, FailingWrites,
                         testing::Values(Fault::kIo, Fault::kFull, Fault::kTornWrite),
                         [](const testing::TestParamInfo<Fault>& info) {
                           return info.param == Fault::kIo     ? "Io"
                                  : info.param == Fault::kFull ? "Full"
                                                               : "Torn";
                         });

// --- A disk that is really full ------------------------------------------------------------------

class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path);
    is_there_ = ::mount("pawl-test", path.c_str(), "tmpfs", 0, "size=12m") == 0;
    why_not_ = is_there_ ? "" : std::strerror(errno);
  }
  ~SmallDisk() {
    if (is_there_) {
      ::umount2(path_.c_str(), MNT_DETACH);
    }
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_there() const { return is_there_; }
  const std::string& why_not() const { return why_not_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  bool is_there_ = false;
  std::string why_not_;
};

TEST(FullDisk, LosesNothing) {
  const TempDir dir;
  const SmallDisk disk(dir.file("disk"));
  if (!disk.is_there()) {
    GTEST_SKIP() << "a small file system cannot be mounted here: " << disk.why_not();
  }
  std::ofstream(disk.file("filler")) << std::string(4'000'000, 'x');
  auto opened = open_at({disk.file("full.db")});
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  auto count = std::make_shared<int>(0);
  Rig rig(
      *opened, make_thread_environment({}),
      {step_workflow("w", {plain_step(CommandKind::kSignal, "go"), run_step("a", counts(count))})});
  ASSERT_TRUE(rig.started.has_value());
  std::vector<std::string> acknowledged;
  std::optional<Error> refused;
  while (!refused && acknowledged.size() < 5000) {
    const std::string id = "run " + std::to_string(acknowledged.size());
    const Result<StartedRun> started = rig.start(id, "\"" + std::string(20'000, 'x') + "\"");
    if (started) {
      acknowledged.push_back(id);
    } else {
      refused = started.error();
    }
  }
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, ErrorCode::kStoreFull) << refused->message;
  EXPECT_THAT(refused->message, HasSubstr("full"));
  EXPECT_GT(acknowledged.size(), 5U);
  // What was acknowledged can be read while the disk is full.
  for (const std::string& id : acknowledged) {
    const auto row = rig.store->find_run(id, std::nullopt);
    ASSERT_TRUE(row.has_value()) << row.error().message;
    EXPECT_TRUE(row->has_value()) << id;
  }
  ASSERT_TRUE(std::filesystem::remove(disk.file("filler")));
  for (const std::string& id : acknowledged) {
    Result<bool> sent = rig.signal(id, "go");
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
    const Result<RunOutcome> outcome = rig.outcome(id);
    ASSERT_TRUE(outcome.has_value())
        << id << ": " << outcome.error().message << "; the engine has told:\n"
        << testing::PrintToString(rig.errors.texts());
    EXPECT_EQ(outcome->status, store::RunStatus::kCompleted);
  }
  EXPECT_EQ(*count, static_cast<int>(acknowledged.size()));
}

// --- Somebody else holds the database ------------------------------------------------------------

// A process that holds the write lock when it is told to.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    PAWL_CHECK(::pipe(orders_.data()) == 0 && ::pipe(answers_.data()) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      serve(path);
    }
  }
  ~Holder() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    for (const int file : {orders_[0], orders_[1], answers_[0], answers_[1]}) {
      ::close(file);
    }
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void hold() { order('h'); }
  void let_go() { order('l'); }

 private:
  void order(char what) {
    char answer = 0;
    PAWL_CHECK(::write(orders_[1], &what, 1) == 1 && ::read(answers_[0], &answer, 1) == 1);
  }
  [[noreturn]] void serve(const std::string& path) {
    sqlite3* db = nullptr;
    char what = 0;
    while (::read(orders_[0], &what, 1) == 1) {
      if (db == nullptr) {
        sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr);
        sqlite3_busy_timeout(db, 10'000);
      }
      const char* const sql = what == 'h' ? "BEGIN EXCLUSIVE" : "COMMIT";
      const char answer = sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? 'y' : 'n';
      if (answer == 'n' || ::write(answers_[1], &answer, 1) != 1) {
        break;
      }
    }
    ::_exit(1);
  }

  pid_t process_ = 0;
  std::array<int, 2> orders_{};
  std::array<int, 2> answers_{};
};

std::vector<Definition> waits_and_counts(const std::shared_ptr<int>& count,
                                         std::int64_t timer_ms = 1) {
  return {step_workflow(
      "w", {plain_step(CommandKind::kSignal, "go"), plain_step(CommandKind::kTimer, "", timer_ms),
            run_step("a", counts(count))})};
}

TEST(Busy, IsWaitedForAsLongAsWasSaid) {
  const TempDir dir;
  const std::string path = dir.file("busy.db");
  Holder holder(path);
  auto opened = open_at({path});
  ASSERT_TRUE(opened.has_value());
  auto count = std::make_shared<int>(0);
  Rig rig(*opened, make_thread_environment({}), waits_and_counts(count));
  ASSERT_TRUE(rig.start("r").has_value());
  holder.hold();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    holder.let_go();
  });
  const Result<bool> sent = rig.signal("r", "go");
  EXPECT_TRUE(sent.has_value()) << sent.error().message;
  later.join();
  EXPECT_TRUE(rig.outcome("r").has_value());
  EXPECT_TRUE(rig.errors.texts().empty());
}

TEST(Busy, IsToldAndTriedAgain) {
  const TempDir dir;
  const std::string path = dir.file("busy.db");
  Holder holder(path);
  auto opened = open_at({path, "", 10});
  ASSERT_TRUE(opened.has_value());
  auto count = std::make_shared<int>(0);
  Rig rig(*opened, make_thread_environment({}), waits_and_counts(count, /*timer_ms=*/500));
  ASSERT_TRUE(rig.start("r").has_value());
  ASSERT_TRUE(rig.start("s").has_value());
  ASSERT_TRUE(rig.signal("r", "go").has_value());
  holder.hold();  // Before the timer of "r" is due.
  // A client's call says so; what the engine does by itself it does later.
  const Result<bool> sent = rig.signal("s", "go");
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, ErrorCode::kStoreBusy);
  EXPECT_THAT(sent.error().message, HasSubstr("locked"));
  for (int i = 0; i < 10'000 && rig.errors.texts().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(rig.errors.codes(), Contains(ErrorCode::kStoreBusy));
  EXPECT_EQ(*count, 0);
  // What is there can be read.
  EXPECT_TRUE(rig.store->find_run("r", std::nullopt).has_value());
  holder.let_go();
  EXPECT_TRUE(rig.outcome("r").has_value());
  EXPECT_TRUE(rig.signal("s", "go").has_value());
  EXPECT_TRUE(rig.outcome("s").has_value());
  EXPECT_EQ(*count, 2);
}

// --- The file is taken away ----------------------------------------------------------------------

TEST(RemovedFile, IsToldToAllWhoWait) {
  const TempDir dir;
  const std::string path = dir.file("gone.db");
  auto opened = open_at({path});
  ASSERT_TRUE(opened.has_value());
  auto count = std::make_shared<int>(0);
  auto may_end = std::make_shared<Latch>();
  auto is_running = std::make_shared<Latch>();
  const ActivityBody slow = [count, may_end, is_running](ActivityAttempt&) {
    ++*count;
    is_running->set();
    make_thread_environment({})->wait(*may_end, 30'000);
    return ActivityOutcome{true, "1", {}};
  };
  Rig rig(*opened, make_thread_environment({}), {step_workflow("w", {run_step("a", slow)})});
  ASSERT_TRUE(rig.start("r").has_value());
  ASSERT_TRUE(rig.env->wait(*is_running, 30'000));
  std::filesystem::rename(path, dir.file("moved.db"));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    may_end->set();
  });
  // The run has ended, and nothing of that can be written.
  const Result<RunOutcome> outcome = rig.outcome("r");
  later.join();
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::kStoreUnusable) << outcome.error().message;
  EXPECT_THAT(outcome.error().message, HasSubstr(path));
  EXPECT_EQ(rig.start("s").error().code, ErrorCode::kStoreUnusable);
  EXPECT_THAT(rig.errors.codes(), Contains(ErrorCode::kStoreUnusable));
  // It is tried again, so that it goes on when the file is back.
  std::filesystem::rename(dir.file("moved.db"), path);
  const Result<RunOutcome> after = rig.outcome("r");
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ(after->status, store::RunStatus::kCompleted);
  EXPECT_EQ(*count, 1);
}

// --- Damaged files -------------------------------------------------------------------------------

constexpr std::size_t kPageBytes = 4096;

// Where a page has something: its header, or its rows, which begin at its end.
void flip_bytes(const std::string& path, std::size_t page, std::mt19937_64& dice) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const int count = 1 << (dice() % 5);
  for (int i = 0; i < count; ++i) {
    const std::size_t in_page = dice() % 2 == 0 ? dice() % 64 : kPageBytes - 1 - dice() % 512;
    const auto at = static_cast<std::streamoff>(page * kPageBytes + in_page);
    file.seekg(at);
    const char byte = static_cast<char>(file.get());
    file.seekp(at);
    file.put(static_cast<char>(byte ^ static_cast<char>(1 + dice() % 255)));
  }
}

std::vector<Definition> damaged_workflow(const std::shared_ptr<int>& count) {
  return {
      step_workflow("w", {run_step("a", counts(count)), plain_step(CommandKind::kTask, "charge"),
                          plain_step(CommandKind::kSignal, "go")})};
}

enum class Verdict : std::uint8_t { kWorks, kTold, kSilent };

// All that an engine does at its start and for its clients, on a database that may be damaged.
Verdict try_everything(const std::string& path) {
  auto opened = open_at({path});
  if (!opened) {
    EXPECT_FALSE(opened.error().message.empty());
    return Verdict::kTold;
  }
  bool is_told = false;
  bool works = true;
  const auto look = [&](const auto& result) {
    works = works && result.has_value();
    is_told = is_told || (!result.has_value() && result.error().code != ErrorCode::kTimedOut);
  };
  auto env = std::make_shared<SimEnvironment>(1);
  auto count = std::make_shared<int>(0);
  Rig rig(*opened, env, damaged_workflow(count), {{"charge", counts(count), {}}});
  look(rig.started);
  look(rig.outcome("run 0"));
  for (int i = 1; i < 6; ++i) {
    const std::string id = "run " + std::to_string(i);
    look(rig.signal(id, "go"));
    look(rig.outcome(id));
  }
  look(rig.start("new"));
  look(rig.signal("new", "go"));
  look(rig.outcome("new"));
  const std::vector<std::string> texts = rig.errors.texts();
  for (const std::string& text : texts) {
    EXPECT_GT(text.size(), 10U);
  }
  // One whose log makes no sense waits for a person, and says why.
  for (int i = 0; i < 6; ++i) {
    const auto row = rig.store->find_run("run " + std::to_string(i), std::nullopt);
    is_told = is_told || (row && *row && (*row)->status == store::RunStatus::kBlocked);
  }
  return is_told || !texts.empty() ? Verdict::kTold : works ? Verdict::kWorks : Verdict::kSilent;
}

TEST(DamagedFile, IsToldAndNeverACrash) {
  const TempDir dir;
  const std::string good = dir.file("good.db");
  {
    auto opened = open_at({good});
    ASSERT_TRUE(opened.has_value());
    auto env = std::make_shared<SimEnvironment>(1);
    auto count = std::make_shared<int>(0);
    Rig rig(*opened, env, damaged_workflow(count), {{"charge", counts(count), {}}});
    for (int i = 0; i < 6; ++i) {
      ASSERT_TRUE(rig.start("run " + std::to_string(i)).has_value());
    }
    ASSERT_TRUE(rig.signal("run 0", "go").has_value());
    ASSERT_TRUE(rig.outcome("run 0").has_value());
    env->run_ready();
  }
  const std::size_t pages = std::filesystem::file_size(good) / kPageBytes;
  ASSERT_GT(pages, 10U);
  const char* const given = std::getenv("PAWL_DAMAGE_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : 1;
  const char* const more = std::getenv("PAWL_DAMAGE_ROUNDS");
  const std::uint64_t rounds = more != nullptr ? std::stoull(more) : 8;
  std::map<Verdict, int> verdicts;
  for (std::size_t page = 0; page < pages; ++page) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      SCOPED_TRACE("page " + std::to_string(page) + ", round " + std::to_string(round) +
                   ", PAWL_DAMAGE_SEED=" + std::to_string(seed));
      std::mt19937_64 dice(seed * 1'000'003 + page * 101 + round);
      const std::string bad = dir.file("bad.db");
      for (const char* suffix : {"", "-wal", "-shm", "-journal", "-workers", "-notify"}) {
        std::filesystem::remove(bad + suffix);
      }
      std::filesystem::copy_file(good, bad);
      flip_bytes(bad, page, dice);
      const Verdict verdict = try_everything(bad);
      ++verdicts[verdict];
    }
  }
  std::printf("%d damaged files were told, %d did not matter, %d were not told\n",
              verdicts[Verdict::kTold], verdicts[Verdict::kWorks], verdicts[Verdict::kSilent]);
  EXPECT_GT(verdicts[Verdict::kTold], 0);
  // SQLite has no checksums: a row that looks like one is believed.
  EXPECT_LT(verdicts[Verdict::kSilent] * 20, verdicts[Verdict::kTold]);
}

}  // namespace
}  // namespace pawl::engine
