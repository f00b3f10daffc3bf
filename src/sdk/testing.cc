#include "pawl/testing.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "base/moment.h"
#include "engine/sim_environment.h"
#include "sdk/client.h"
#include "sdk/testing_history.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::testing {

namespace detail {

namespace {

constexpr std::chrono::hours kYear{24 * 365};
// What is further away than this will not happen: heartbeats, mostly.
constexpr Millis kHorizon = 20 * kYear;
// Nobody else is there who could take over, so there is no need to say often that one lives.
constexpr Millis kLease = 500 * kYear;

// A directory that goes with its owner; in memory where the system has such a place.
class TempDir {
 public:
  TempDir() {
    static std::atomic<int> count = 0;
    const std::filesystem::path base = std::filesystem::exists("/dev/shm")
                                           ? std::filesystem::path("/dev/shm")
                                           : std::filesystem::temp_directory_path();
    path_ = base / ("pawl-testing-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::create_directories(path_);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// The simulated environment; nothing can be asked of it while the process is dead.
class KitEnvironment final : public engine::Environment {
 public:
  explicit KitEnvironment(std::uint64_t seed) : sim_(seed) {}

  std::int64_t now_ms() override { return sim_.now_ms(); }
  void set_clock(std::int64_t now_ms) override { sim_.set_clock(now_ms); }
  std::uint64_t random() override { return sim_.random(); }
  void post(engine::Lane lane, engine::Job job) override {
    if (!is_dead_) {
      sim_.post(lane, std::move(job));
    }
  }
  void hand_over(engine::Lane lane, engine::Job job) override { post(lane, std::move(job)); }
  void set_alarm(std::int64_t at_ms, engine::Job job) override {
    if (!is_dead_) {
      sim_.set_alarm(at_ms, std::move(job));
    }
  }
  bool wait(engine::Latch& latch, std::int64_t timeout_ms) override {
    const std::int64_t deadline =
        timeout_ms < 0 ? std::numeric_limits<std::int64_t>::max() : add_ms(now_ms(), timeout_ms);
    while (!latch.is_set() && !is_dead_) {
      if (sim_.step()) {
        continue;
      }
      const std::int64_t next = std::min(deadline, sim_.next_alarm_ms());
      if (next - now_ms() > kHorizon.count()) {
        return false;  // And time stays where it is.
      }
      sim_.run_until(next);
      if (next == deadline) {
        break;
      }
    }
    return latch.is_set();
  }

  // Alarm by alarm: if the process dies on the way, time stays there.
  void advance(std::int64_t until_ms) {
    while (!is_dead_) {
      const std::int64_t next = sim_.next_alarm_ms();
      sim_.run_until(std::min(next, until_ms));
      if (next >= until_ms) {
        break;
      }
    }
  }
  // False: nothing more will happen by itself.
  bool skip() {
    sim_.run_ready();
    const std::int64_t next = sim_.next_alarm_ms();
    if (is_dead_ || next - now_ms() > kHorizon.count()) {
      return false;
    }
    sim_.run_until(next);
    return true;
  }
  void die() {
    is_dead_ = true;
    sim_.drop_all();
  }
  void revive() { is_dead_ = false; }
  bool is_dead() const { return is_dead_; }

 private:
  engine::SimEnvironment sim_;
  bool is_dead_ = false;
};

}  // namespace

class Kit final : public pawl::detail::ClientHooks {
 public:
  Kit(const Registry& registry, const Options& options)
      : options_(options),
        environment_(std::make_shared<KitEnvironment>(options.seed)),
        settings_(std::make_shared<pawl::detail::Settings>()) {
    EngineOptions engine = options.engine;
    engine.lease = kLease;
    engine.on_error = [this](std::string_view text) { errors.emplace_back(text); };
    settings_->payload_bytes_max = engine.payload_bytes_max;
    client_ = std::make_shared<pawl::detail::Client>(environment_, registry, engine, this);
  }

  const std::shared_ptr<pawl::detail::Client>& client() { return client_; }
  KitEnvironment& environment() { return *environment_; }

  void add_fake(const std::string& name, pawl::detail::ActivityFunction function) {
    if (client_->is_open()) {
      throw UsageError("fake '" + name + "': say it before anything is started");
    }
    settings_->fakes[name] = std::move(function);
  }

  void open() {
    if (client_->is_open()) {
      return;
    }
    register_fakes();
    store::SqliteOptions sqlite;
    sqlite.path = dir_.file("test.db");
    sqlite.durability = store::Durability::kProcess;
    sqlite.signal = hub_.make_signal();
    auto opened = store::open_sqlite(std::move(sqlite));
    if (!opened) {
      pawl::detail::throw_client_error("test kit", opened.error());
    }
    client_->open(*std::move(opened),
                  {settings_, options_.replay_every_turn,
                   [this](const store::CommitTurn& turn) { look_at(turn); }});
  }

  void crash() {
    environment_->die();
    client_->abandon();
    environment_->revive();
    ++crashes;
    open();
  }

  // Something that lets time pass, with crashes on the way.
  template <class Step>
  void run(const Step& step) {
    open();
    may_crash_ = true;
    do {
      step();
    } while (recover());
    may_crash_ = false;
  }

  // --- ClientHooks ---
  void before_call(bool may_crash) override {
    open();
    may_crash_ = may_crash;
  }
  bool recover() override {
    if (!environment_->is_dead()) {
      return false;
    }
    crash();
    return true;
  }
  void after_call() override {
    may_crash_ = false;
    if (is_crash_due_) {
      is_crash_due_ = false;
      crash();
    }
  }
  Millis longest_wait() const override { return kHorizon; }

  std::map<std::string, std::uint64_t> crash_points;  // By run.
  std::size_t crashes = 0;
  std::vector<std::string> errors;

 private:
  // Tasks can be faked that nobody has registered.
  void register_fakes() {
    for (const auto& [name, function] : settings_->fakes) {
      bool is_known = false;
      for (const auto& entry : client_->registry().activities()) {
        is_known = is_known || entry.name == name;
      }
      if (!is_known) {
        client_->registry().activity(name, [] {});
      }
    }
  }

  void look_at(const store::CommitTurn& turn) {
    if (crash_points.empty() || turn.entries.empty()) {
      return;
    }
    Result<std::optional<store::RunRow>> found = client_->store().find_run(turn.run);
    const std::optional<store::RunRow> row = found ? *std::move(found) : std::nullopt;
    if (!row) {
      return;
    }
    const auto point = crash_points.find(row->id);
    if (point == crash_points.end() || turn.entries.back().seq < point->second) {
      return;
    }
    crash_points.erase(point);
    if (may_crash_) {
      environment_->die();
    } else {
      is_crash_due_ = true;
    }
  }

  const Options options_;
  TempDir dir_;
  store::LocalChangeHub hub_;
  std::shared_ptr<KitEnvironment> environment_;
  std::shared_ptr<pawl::detail::Settings> settings_;
  std::shared_ptr<pawl::detail::Client> client_;
  bool may_crash_ = false;
  bool is_crash_due_ = false;
};

}  // namespace detail

Environment::Environment(const Registry& registry, const Options& options)
    : Environment(std::make_shared<detail::Kit>(registry, options)) {}

Environment::Environment(std::shared_ptr<detail::Kit> kit)
    : Engine(kit->client()), kit_(std::move(kit)) {}

Environment::~Environment() {
  kit_->client()->stop();
  kit_->client()->detach_hooks();
}

void Environment::add_fake(const std::string& name, pawl::detail::ActivityFunction function) {
  kit_->add_fake(name, std::move(function));
}

Time Environment::now() const { return Time(Millis(kit_->environment().now_ms())); }

void Environment::advance(Millis duration) {
  const std::int64_t until = add_ms(kit_->environment().now_ms(), duration.count());
  kit_->run([&] { kit_->environment().advance(until); });
}

void Environment::run_until_idle() {
  kit_->run([&] {
    while (kit_->environment().skip()) {
    }
  });
}

void Environment::crash() {
  kit_->open();
  kit_->crash();
}

void Environment::crash_after(const std::string& run, std::uint64_t seq) {
  kit_->crash_points[run] = seq;
}

std::size_t Environment::crashes() const { return kit_->crashes; }

History Environment::history(const std::string& run) {
  kit_->open();
  store::Store& store = kit_->client()->store();
  const store::RunRow row = pawl::detail::find_row(*kit_->client(), run);
  auto entries = std::make_shared<detail::Entries>();
  entries->run_id = row.uuid;
  entries->started_ms = row.created_ms;
  const Result<void> read =
      store.read_log(row.key, 1, [&](const replay::Entry& entry) -> Result<void> {
        entries->add(entry);
        return {};
      });
  if (!read) {
    pawl::detail::throw_client_error("history of '" + run + "'", read.error());
  }
  return History(std::move(entries));
}

const std::vector<std::string>& Environment::errors() const { return kit_->errors; }

}  // namespace pawl::testing
