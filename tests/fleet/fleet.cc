// A fleet of real processes on a real server, all of which have accidents, while random programs
// with a known answer run. In the end every run that was acknowledged has its answer, and nothing
// was recorded twice.
//
//   fleet [--seed N] [--seconds N] [--workers N] [--window N] [--lease-ms N] [--skew-s N]
//         [--faults kill,stop,cut,terminate,restart,failover]
//
// A seed repeats the programs and the accidents, but not the moments that they come at.
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fleet/check.h"
#include "fleet/interpreter.h"
#include "fleet/link.h"
#include "fleet/plan.h"
#include "fleet/process.h"
#include "fleet/program.h"
#include "postgres/server.h"
#include "property/rng.h"

namespace pawl::fleet {

namespace {

using property::Rng;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::PostgresServer;
using Clock = std::chrono::steady_clock;

constexpr seconds kPatience(90);  // For the next answer, when nothing happens to anybody any more.
constexpr seconds kLongestRun(300);
constexpr seconds kTell(60);
constexpr int kEndPatienceS = 30;
constexpr milliseconds kLook(5);
constexpr milliseconds kCount(300);

enum class Fault : std::uint8_t { kKill, kStop, kCut, kTerminate, kRestart, kFailover };
const std::map<std::string, Fault> kFaults = {
    {"kill", Fault::kKill}, {"terminate", Fault::kTerminate}, {"stop", Fault::kStop},
    {"cut", Fault::kCut},   {"restart", Fault::kRestart},     {"failover", Fault::kFailover}};

struct Settings {
  std::uint64_t seed = 0;
  int seconds = 10;
  int workers = 4;
  std::size_t window = 24;  // Runs at once.
  int lease_ms = 1500;
  int skew_s = 3600;  // How far clocks are apart from the right time, forth and back.
  std::vector<Fault> faults;
};

// Lies beside this program: fleet_member, and what sets clocks wrong.
std::string sibling(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Which runs there are, and what is known of them. Thread-safe.
class Book {
 public:
  Book(std::uint64_t seed, std::size_t window) : seed_(seed), window_(window) {}

  // What is to be told to a feeder that knows nothing.
  std::vector<std::string> open_runs() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> lines;
    while (open_.size() < window_ && !is_closing_) {
      open_[next_++] = Clock::now();
    }
    for (const auto& [number, since] : open_) {
      lines.push_back((acknowledged_.contains(number) ? "resume " : "start ") +
                      std::to_string(number));
    }
    return lines;
  }

  // What the feeder says. Returns what to tell it.
  std::optional<std::string> hear(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    std::size_t number = 0;
    words >> what >> number;
    std::string rest;
    std::getline(words >> std::ws, rest);
    const std::lock_guard lock(mutex_);
    if (what == "started") {
      acknowledged_.insert(number);
      return std::nullopt;
    }
    const std::string id = run_id(number);
    const Expected expected = expect(program_of(seed_, number), id);
    steps_ += open_.contains(number) ? expected.steps : 0;
    if (what == "lost") {
      problems_.push_back(id + " was acknowledged and is not there");
    } else if (rest != expected.outcome) {
      wrong_.insert(number);
      problems_.push_back(id + " ended with '" + rest + "' instead of '" + expected.outcome + "'");
    }
    last_answer_ = Clock::now();
    open_.erase(number);
    if (is_closing_) {
      return std::nullopt;
    }
    open_[next_] = Clock::now();
    return "start " + std::to_string(next_++);
  }

  void close() {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    last_answer_ = Clock::now();
  }
  // All that were acknowledged, once more.
  void reopen() {
    const std::lock_guard lock(mutex_);
    for (const std::size_t number : acknowledged_) {
      open_[number] = Clock::now();
    }
    last_answer_ = Clock::now();
  }

  bool is_done() {
    const std::lock_guard lock(mutex_);
    return open_.empty();
  }
  std::size_t open() {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }
  std::size_t acknowledged() {
    const std::lock_guard lock(mutex_);
    return acknowledged_.size();
  }
  // Has been open for so long that something must be wrong.
  std::optional<std::string> overdue() {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, since] : open_) {
      if (Clock::now() > since + kLongestRun) {
        return run_id(number);
      }
    }
    return std::nullopt;
  }
  Clock::time_point last_answer() {
    const std::lock_guard lock(mutex_);
    return last_answer_;
  }
  std::vector<std::string> problems() {
    const std::lock_guard lock(mutex_);
    return problems_;
  }
  std::set<std::size_t> wrong() {
    const std::lock_guard lock(mutex_);
    return wrong_;
  }
  std::size_t steps() const { return steps_; }
  std::map<std::string, Expected> expected() {
    const std::lock_guard lock(mutex_);
    std::map<std::string, Expected> all;
    for (const std::size_t number : acknowledged_) {
      all[run_id(number)] = expect(program_of(seed_, number), run_id(number));
    }
    return all;
  }

 private:
  const std::uint64_t seed_;
  const std::size_t window_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::map<std::size_t, Clock::time_point> open_;  // Since when.
  std::set<std::size_t> acknowledged_;
  std::set<std::size_t> wrong_;
  std::size_t steps_ = 0;
  bool is_closing_ = false;
  Clock::time_point last_answer_ = Clock::now();
  std::vector<std::string> problems_;
};

// One server, or two of which one follows the other, and who is it that may be written to.
class Servers {
 public:
  explicit Servers(bool has_standby) {
    PostgresServer::Options options;
    options.tcp = true;
    slots_[0] = std::make_unique<PostgresServer>(options);
    slots_[0]->execute(std::string("CREATE TABLE ") + kTransactedTable +
                       "(run text NOT NULL, label text NOT NULL)");
    if (has_standby) {
      slots_[1] = slots_[0]->make_standby(true);
    }
  }

  std::size_t count() const { return slots_[1] == nullptr ? 1 : 2; }
  std::uint16_t port(std::size_t slot) const { return slots_[slot]->port(); }
  PostgresServer& primary() { return *slots_[primary_]; }

  void restart() {
    primary().stop(PostgresServer::Stop::kImmediate);
    primary().start();
  }
  // The primary is no more; the standby takes over.
  void promote() {
    primary().kill();
    primary_ = 1 - primary_;
    primary().promote();
  }
  // In the place of the one that is no more. Returns that.
  std::size_t replace() {
    const std::size_t slot = 1 - primary_;
    slots_[slot].reset();
    slots_[slot] = primary().make_standby(true);
    return slot;
  }

 private:
  std::array<std::unique_ptr<PostgresServer>, 2> slots_;
  std::size_t primary_ = 0;
};

struct Member {
  std::string name;
  std::vector<std::unique_ptr<Link>> links;  // To each server.
  int skew_s = 0;
  std::unique_ptr<Process> process;
  Clock::time_point starts_at;  // If it has been killed.
  Clock::time_point wakes_at;   // If it has been stopped.
  bool is_stopped = false;

  bool is_up() const { return process != nullptr && !is_stopped; }
};

class Fleet {
 public:
  explicit Fleet(const Settings& settings)
      : settings_(settings),
        rng_(settings.seed),
        book_(settings.seed, settings.window),
        directory_(make_directory()),
        servers_(std::ranges::find(settings.faults, Fault::kFailover) != settings.faults.end()) {
    for (int i = 0; i < settings.workers; ++i) {
      Member& worker = add_member("worker-" + std::to_string(i));
      const std::array<int, 4> skews = {0, settings.skew_s, -settings.skew_s, settings.skew_s / 2};
      worker.skew_s = skews[static_cast<std::size_t>(i) % skews.size()];
    }
    add_member("feeder").skew_s = -settings.skew_s;
    for (const std::unique_ptr<Member>& member : members_) {
      start(*member);
    }
  }

  const std::string& directory() const { return directory_; }

  void run() {
    const Clock::time_point began = Clock::now();
    have_accidents(began + seconds(settings_.seconds));
    book_.close();
    for (const std::unique_ptr<Member>& member : members_) {
      wake(*member);
      if (member->process == nullptr) {
        start(*member);
      }
    }
    wait_for_answers("after the accidents");
    // What was said once is said again, by whom it has not been told before.
    feeder().process->kill();
    book_.reopen();
    start(feeder());
    wait_for_answers("when it was asked for again");
    for (const std::unique_ptr<Member>& member : members_) {
      if (member->process->end(kEndPatienceS) != 0) {
        problems_.push_back(member->name + " did not end as it should");
      }
    }
    Findings findings = check(servers_.primary(), notes(), book_.expected());
    report(findings, Clock::now() - began);
    for (const std::vector<std::string>& more : {book_.problems(), findings.problems}) {
      problems_.insert(problems_.end(), more.begin(), more.end());
    }
    if (!problems_.empty()) {
      for (const std::size_t number : book_.wrong()) {
        keep_history(number);
      }
      std::string text;
      constexpr std::size_t kShown = 20;
      for (std::size_t i = 0; i < std::min(kShown, problems_.size()); ++i) {
        text += "\n  " + problems_[i];
      }
      throw Failed(std::to_string(problems_.size()) + " problems:" + text);
    }
    std::filesystem::remove_all(directory_);
  }

 private:
  static std::string make_directory() {
    std::string path = (std::filesystem::temp_directory_path() / "pawl-fleet-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      throw std::runtime_error("cannot make " + path);
    }
    return path;
  }

  std::string notes() const { return directory_ + "/notes"; }
  Member& feeder() { return *members_.back(); }

  Member& add_member(std::string name) {
    auto member = std::make_unique<Member>();
    member->name = std::move(name);
    for (std::size_t slot = 0; slot < servers_.count(); ++slot) {
      member->links.push_back(std::make_unique<Link>(servers_.port(slot)));
    }
    members_.push_back(std::move(member));
    return *members_.back();
  }

  static std::string url_of(const Member& member) {
    std::string hosts;
    for (const std::unique_ptr<Link>& link : member.links) {
      hosts +=
          (hosts.empty() ? "" : ",") + std::string("127.0.0.1:") + std::to_string(link->port());
    }
    return "postgresql://postgres@" + hosts +
           "/postgres?target_session_attrs=read-write&connect_timeout=2";
  }

  void start(Member& member) {
    Process::Options options;
    options.errors = directory_ + "/" + member.name;
    if (member.skew_s != 0) {
      options.environment = {{"LD_PRELOAD", sibling("libfleet_skew.so")},
                             {"PAWL_SKEW_S", std::to_string(member.skew_s)}};
    }
    if (&member != &feeder()) {
      options.command = {sibling("fleet_member"), "work", url_of(member), notes(),
                         std::to_string(settings_.lease_ms)};
      options.on_line = [](const std::string&) {};
      ++workers_started_;
      member.process = std::make_unique<Process>(options);
      return;
    }
    options.command = {sibling("fleet_member"), "feed", url_of(member), notes(),
                       std::to_string(settings_.seed)};
    // The process is there before it says anything: it is told first.
    options.on_line = [this, &member](const std::string& line) {
      if (const std::optional<std::string> answer = book_.hear(line)) {
        member.process->tell(*answer);
      }
    };
    member.process = std::make_unique<Process>(options);
    for (const std::string& line : book_.open_runs()) {
      member.process->tell(line);
    }
  }

  // --- Accidents ---

  void have_accidents(Clock::time_point until) {
    std::vector<Fault> bag;  // So that each kind has its turn.
    Clock::time_point next = Clock::now() + pause(300, 1000);
    while (Clock::now() < until) {
      look_after_members();
      count_workers();
      tell_progress();
      if (Clock::now() >= next) {
        if (bag.empty()) {
          bag = settings_.faults;
        }
        const std::size_t which = rng_.below(bag.size());
        const Fault fault = bag[which];
        bag.erase(bag.begin() + static_cast<std::ptrdiff_t>(which));
        have(fault);
        next = Clock::now() + pause(50, 700);
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  void tell_progress() {
    if (Clock::now() < next_tell_) {
      return;
    }
    next_tell_ = Clock::now() + kTell;
    int accidents = 0;
    for (const auto& [what, times] : counts_) {
      accidents += times;
    }
    std::cout << book_.acknowledged() << " runs, " << accidents << " accidents" << std::endl;
    if (const std::optional<std::string> id = book_.overdue()) {
      throw Failed(*id + " does not come to its end:\n" + open_runs());
    }
  }

  milliseconds pause(int low_ms, int high_ms) {
    return milliseconds(rng_.between(low_ms, high_ms));
  }

  void look_after_members() {
    for (const std::unique_ptr<Member>& member : members_) {
      if (member->process != nullptr && member->process->has_ended()) {
        throw Failed(member->name + " has ended by itself; its last words: " + last_words(*member));
      }
      if (member->is_stopped && Clock::now() >= member->wakes_at) {
        wake(*member);
      }
      if (member->process == nullptr && Clock::now() >= member->starts_at) {
        start(*member);
      }
    }
  }

  std::string last_words(const Member& member) const {
    std::ifstream errors(directory_ + "/" + member.name);
    std::string last;
    for (std::string line; std::getline(errors, line);) {
      last = line;
    }
    return last;
  }

  static void wake(Member& member) {
    if (std::exchange(member.is_stopped, false)) {
      member.process->signal(SIGCONT);
    }
  }

  void have(Fault fault) {
    switch (fault) {
      case Fault::kKill:
        kill(rng_.chance(15) ? feeder() : worker());
        break;
      case Fault::kStop:
        stop(worker());
        break;
      case Fault::kCut:
        cut(rng_.chance(20) ? feeder() : worker());
        break;
      case Fault::kTerminate:
        terminate();
        break;
      case Fault::kRestart:
        servers_.restart();
        count("server restarted");
        break;
      case Fault::kFailover:
        fail_over();
        break;
    }
  }

  Member& worker() { return *members_[rng_.below(static_cast<std::size_t>(settings_.workers))]; }

  void kill(Member& member) {
    if (!member.is_up()) {
      return;
    }
    member.process->kill();
    member.process.reset();
    member.starts_at = Clock::now() + (rng_.chance(50) ? milliseconds(0) : pause(100, 2000));
    count(&member == &feeder() ? "feeder killed" : "worker killed");
  }

  // For longer than its lease: others take what it has.
  void stop(Member& member) {
    if (!member.is_up()) {
      return;
    }
    member.process->signal(SIGSTOP);
    member.is_stopped = true;
    member.wakes_at =
        Clock::now() + milliseconds(settings_.lease_ms) * rng_.between(110, 250) / 100;
    count("worker stopped");
  }

  void cut(Member& member) {
    const std::size_t how = rng_.below(3);
    const milliseconds silence = milliseconds(settings_.lease_ms) * rng_.between(20, 200) / 100;
    constexpr std::array kHow = {Link::Cut::kNow, Link::Cut::kAnswers, Link::Cut::kSilence};
    constexpr std::array kNames = {"connections cut", "answers lost", "connections silent"};
    for (const std::unique_ptr<Link>& link : member.links) {
      link->cut(kHow[how], silence);
    }
    count(kNames[how]);
  }

  // The server ends some of the sessions, in the middle of whatever they do.
  void terminate() {
    servers_.primary().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pawl' "
        "AND random() < " +
        std::to_string(rng_.between(1, 10)) + " / 10.0");
    count("sessions ended by the server");
  }

  void fail_over() {
    servers_.promote();
    count("standby promoted");
    const std::size_t slot = servers_.replace();
    for (const std::unique_ptr<Member>& member : members_) {
      member->links[slot]->lead_to(servers_.port(slot));
    }
  }

  // --- What comes of it ---

  void wait_for_answers(const std::string& when) {
    while (!book_.is_done()) {
      look_after_members();
      count_workers();
      if (Clock::now() > book_.last_answer() + kPatience) {
        throw Failed("no answer " + when + " for " + std::to_string(kPatience.count()) +
                     " s, and " + std::to_string(book_.open()) + " runs have none:\n" +
                     open_runs());
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  std::string open_runs() {
    return servers_.primary().query(
               "SELECT string_agg(format('  %s status %s waits for %s owner %s epoch %s wake in %s "
               "ms', id, status, waiting_for, owner, epoch, wake - (extract(epoch FROM now()) * "
               "1000)::int8), chr(10)) FROM (SELECT * FROM pawl.pawl_run WHERE status NOT BETWEEN "
               "4 AND 7 ORDER BY key LIMIT 20) AS r") +
           "\n" +
           servers_.primary().query(
               "SELECT string_agg(format('  worker %s expires in %s ms', key, expires - "
               "(extract(epoch FROM now()) * 1000)::int8), chr(10)) FROM pawl.pawl_worker") +
           "\n" +
           servers_.primary().query(
               "SELECT string_agg(format('  task of run %s state %s owner %s attempt %s', run, "
               "state, owner, attempt), chr(10)) FROM pawl.pawl_task");
  }

  // For people, beside what the processes said.
  void keep_history(std::size_t number) {
    const std::string id = run_id(number);
    std::ofstream(directory_ + "/" + id)
        << program_of(settings_.seed, number).dump(1) << "\n"
        << servers_.primary().query(
               "SELECT string_agg(format('%s #%s: %s kind %s %s %s %s %s', r.id, r.number, l.seq, "
               "l.kind, l.location, l.name, l.id, encode(l.payload, 'escape')), chr(10) ORDER BY "
               "r.key, l.seq) FROM pawl.pawl_run AS r JOIN (SELECT run, seq, kind, location, name, "
               "id, payload FROM pawl.pawl_log UNION ALL SELECT run, seq, kind, location, name, "
               "id, payload FROM pawl.pawl_forgotten) AS l ON l.run = r.key WHERE r.id = '" +
               id + "' OR r.id LIKE '" + id + "/%'")
        << "\n";
  }

  // Workers under their numbers: one that has lost its lease goes on under a new one.
  void count_workers() {
    if (Clock::now() < next_count_) {
      return;
    }
    next_count_ = Clock::now() + kCount;
    std::istringstream keys(servers_.primary().query(
        "SELECT coalesce(string_agg(key::text, ' '), '') FROM pawl.pawl_worker"));
    for (std::string key; keys >> key;) {
      workers_seen_.insert(key);
    }
  }

  void count(const std::string& what) { ++counts_[what]; }

  void report(const Findings& findings, Clock::duration took) {
    std::cout << book_.expected().size() << " runs acknowledged and answered, " << findings.runs
              << " with their children and generations, " << book_.steps() << " steps, "
              << findings.entries << " entries\n";
    for (const auto& [what, times] : counts_) {
      std::cout << times << " times " << what << "\n";
    }
    std::cout << findings.executions << " executions of activities, " << findings.executed_again
              << " of them again; runs claimed " << findings.claims << " times; "
              << findings.deadlocks << " deadlocks of late; " << workers_started_
              << " workers started, which went by at least " << workers_seen_.size() << " numbers\n"
              << std::chrono::duration_cast<seconds>(took).count() << " s" << std::endl;
  }

  const Settings settings_;
  Rng rng_;
  Book book_;
  const std::string directory_;
  Servers servers_;
  std::vector<std::unique_ptr<Member>> members_;
  std::map<std::string, int> counts_;
  int workers_started_ = 0;
  std::set<std::string> workers_seen_;
  Clock::time_point next_tell_ = Clock::now() + kTell;
  Clock::time_point next_count_ = Clock::now() + seconds(3);
  std::vector<std::string> problems_;
};

std::string faults_text(const Settings& settings) {
  std::string text;
  for (const auto& [name, fault] : kFaults) {
    if (std::ranges::find(settings.faults, fault) != settings.faults.end()) {
      text += (text.empty() ? "" : ",") + name;
    }
  }
  return text;
}

std::string command_of(const Settings& settings) {
  return "build/bin/fleet --seed " + std::to_string(settings.seed) + " --seconds " +
         std::to_string(settings.seconds) + " --workers " + std::to_string(settings.workers) +
         " --window " + std::to_string(settings.window) + " --lease-ms " +
         std::to_string(settings.lease_ms) + " --skew-s " + std::to_string(settings.skew_s) +
         " --faults " + faults_text(settings);
}

Settings parse(const std::vector<std::string>& args) {
  Settings settings;
  settings.seed = std::random_device()();
  std::string faults = "kill,stop,cut,terminate,restart,failover";
  if (args.size() % 2 != 0) {
    throw std::invalid_argument("each option has a value");
  }
  for (std::size_t i = 0; i < args.size(); i += 2) {
    const std::string& name = args[i];
    const std::string& value = args[i + 1];
    if (name == "--seed") {
      settings.seed = std::stoull(value);
    } else if (name == "--seconds") {
      settings.seconds = std::stoi(value);
    } else if (name == "--workers") {
      settings.workers = std::stoi(value);
    } else if (name == "--window") {
      settings.window = std::stoul(value);
    } else if (name == "--lease-ms") {
      settings.lease_ms = std::stoi(value);
    } else if (name == "--skew-s") {
      settings.skew_s = std::stoi(value);
    } else if (name == "--faults") {
      faults = value;
    } else {
      throw std::invalid_argument("there is no option " + name);
    }
  }
  std::istringstream names(faults);
  for (std::string name; std::getline(names, name, ',');) {
    if (!kFaults.contains(name)) {
      throw std::invalid_argument("there is no fault '" + name + "'");
    }
    settings.faults.push_back(kFaults.at(name));
  }
  if (settings.faults.empty() || settings.workers < 1 || settings.window < 1) {
    throw std::invalid_argument("no faults, no workers or no runs");
  }
  return settings;
}

int run(const Settings& settings) {
  std::cout << command_of(settings) << std::endl;
  std::optional<Fleet> fleet;
  try {
    fleet.emplace(settings);
    fleet->run();
    return 0;
  } catch (const std::exception& error) {
    std::cout << "FAILED";
    if (fleet) {
      std::cout << " (what the processes said: " << fleet->directory() << ")";
    }
    std::cout << ": " << error.what() << "\nrepeat it: " << command_of(settings) << std::endl;
    return 1;
  }
}

}  // namespace

}  // namespace pawl::fleet

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // Of processes that have been killed.
  try {
    return pawl::fleet::run(pawl::fleet::parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::cerr << "fleet: " << error.what() << "\n";
    return 2;
  }
}
