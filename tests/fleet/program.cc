#include "fleet/program.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace pawl::fleet {

using nlohmann::json;
using property::Rng;

namespace {

constexpr Number kModulus = 1'000'000'007;

}  // namespace

Number value_of(std::string_view label, Number from) {
  const std::string text = std::string(label) + ":" + std::to_string(from);
  return static_cast<Number>(stable_digest(text) % static_cast<std::uint64_t>(kModulus));
}

Number mix(Number before, Number value) { return (before * 31 + value) % kModulus; }

std::string step_label(const std::string& prefix, std::size_t index) {
  return prefix + "." + std::to_string(index);
}

std::string part_label(const std::string& label, char what, std::size_t number) {
  return label + what + std::to_string(number);
}

std::string generation_label(int generation) { return "g" + std::to_string(generation); }

std::string child_id(const std::string& run, const std::string& label) { return run + "/" + label; }

std::string completed_text(Number answer) { return "completed " + std::to_string(answer); }
std::string failed_text(std::string_view message) { return "failed " + std::string(message); }
std::string cancelled_text(std::string_view reason) { return "cancelled " + std::string(reason); }
std::string failure_of(Number answer) { return "no: " + std::to_string(answer); }

// --- Making programs -----------------------------------------------------------------------------

namespace {

class Maker {
 public:
  explicit Maker(Rng& rng) : rng_(rng) {}

  json program(int depth) {
    json made = {{"generations", 1}, {"fails", rng_.chance(12)}, {"start", rng_.between(0, 999)}};
    // What is undone when a run recurs is nothing.
    may_undo_ = true;
    if (depth == 0 && rng_.chance(15)) {
      made["generations"] = rng_.between(2, 3);
      made["fails"] = false;
      may_undo_ = false;
    }
    json steps = json::array();
    if (depth == 0 && made["generations"] == 1 && rng_.chance(8)) {
      steps = until_cancelled();
    }
    for (json& step : list(depth, 2, depth == 0 ? 6 : 3)) {
      steps.push_back(std::move(step));
    }
    made["steps"] = std::move(steps);
    return made;
  }

 private:
  // The first thing that is waited for, so that it is known what the request interrupts.
  json until_cancelled() {
    json steps = json::array();
    for (int i = rng_.between(0, 2); i > 0; --i) {
      steps.push_back(undo());
    }
    steps.push_back({{"do", "until_cancelled"}, {"leaves", rng_.chance(50)}});
    return steps;
  }

  json list(int depth, int min, int max) {
    json steps = json::array();
    for (int i = rng_.between(min, max); i > 0; --i) {
      steps.push_back(step(depth));
    }
    return steps;
  }

  json step(int depth) {
    const int choice = rng_.between(1, depth < 3 ? 130 : 88);
    return choice <= 14    ? run()
           : choice <= 30  ? task()
           : choice <= 36  ? sleep()
           : choice <= 42  ? json{{"do", "signal"}, {"count", rng_.between(1, 3)}}
           : choice <= 45  ? json{{"do", "no_signal"}, {"ms", rng_.between(1, 40)}}
           : choice <= 50  ? json{{"do", "promise"}, {"rejected", rng_.chance(30)}}
           : choice <= 56  ? json{{"do", "transact"}}
           : choice <= 60  ? json{{"do", "state"}}
           : choice <= 64  ? json{{"do", "echo"}}
           : choice <= 68  ? json{{"do", "too_late"}, {"ms", rng_.between(1, 40)}}
           : choice <= 71  ? json{{"do", "in_time"}, {"of", leaf(depth)}}
           : choice <= 74  ? json{{"do", "version"}}
           : choice <= 77  ? json{{"do", "cancel_timer"}}
           : choice <= 82  ? json{{"do", "all"}, {"of", leaves(depth)}}
           : choice <= 86  ? json{{"do", "any"}, {"of", leaves(depth)}}
           : choice <= 88  ? (may_undo_ ? undo() : run())
           : choice <= 95  ? json{{"do", "if"}, {"then", inner(depth)}, {"else", inner(depth)}}
           : choice <= 103 ? json{{"do", "branch"}, {"steps", inner(depth)}}
           : choice <= 111 ? join(depth)
           : choice <= 119 ? loop(depth)
                           : child(depth);
  }

  json inner(int depth) { return list(depth + 1, 1, 3); }

  json run() { return activity("run"); }
  json task() {
    json made = activity("task");
    made["queue"] = rng_.chance(70) ? "default" : "side";
    made["beats"] = rng_.chance(20) ? rng_.between(1, 4) : 0;
    return made;
  }
  json activity(const char* what) {
    const bool for_good = rng_.chance(10);
    return {{"do", what},
            {"failures", for_good          ? rng_.between(1, 2)
                         : rng_.chance(25) ? rng_.between(1, 2)
                                           : 0},
            {"for_good", for_good},
            {"ms", rng_.chance(60) ? rng_.between(0, 3) : rng_.between(4, 40)}};
  }
  json sleep() {
    return {{"do", "sleep"},
            {"ms", rng_.chance(85) ? rng_.between(0, 60) : rng_.between(100, 900)}};
  }
  json undo() { return {{"do", "undo"}, {"failures", rng_.chance(20) ? 1 : 0}}; }

  // A step that is one future, and does not fail.
  json leaf(int depth) {
    const int choice = rng_.between(1, depth < 2 ? 100 : 88);
    json made = choice <= 35   ? run()
                : choice <= 65 ? task()
                : choice <= 77 ? json{{"do", "signal"}, {"count", 1}}
                : choice <= 88 ? json{{"do", "promise"}, {"rejected", false}}
                               : child(depth);
    if (made.contains("for_good")) {
      made["for_good"] = false;
    } else if (made.contains("program")) {
      made["program"]["fails"] = false;
    }
    return made;
  }
  json leaves(int depth) {
    json made = json::array();
    for (int i = rng_.between(2, 4); i > 0; --i) {
      made.push_back(leaf(depth));
    }
    return made;
  }

  // In which order arms register what is to be undone is anybody's guess.
  json join(int depth) {
    const bool might_undo = std::exchange(may_undo_, false);
    json arms = json::array();
    for (int i = rng_.between(2, 3); i > 0; --i) {
      arms.push_back(inner(depth));
    }
    may_undo_ = might_undo;
    return {{"do", "join"}, {"arms", std::move(arms)}};
  }
  json loop(int depth) {
    return {{"do", "loop"},
            {"times", rng_.between(1, 5)},
            {"every", rng_.between(1, 3)},
            {"steps", list(depth + 2, 1, 2)}};
  }
  json child(int depth) {
    const bool might_undo = may_undo_;
    json made = {{"do", "child"}, {"program", program(depth + 1)}};
    may_undo_ = might_undo;
    return made;
  }

  Rng& rng_;
  bool may_undo_ = true;
};

}  // namespace

json make_program(Rng& rng) { return Maker(rng).program(0); }

// --- What becomes of them ------------------------------------------------------------------------

namespace {

struct Ended {
  enum class How : std::uint8_t { kCompleted, kFailed, kCancelled };
  How how = How::kCompleted;
  Number answer = 0;
};

class Evaluation {
 public:
  Evaluation(Expected& expected, std::string run) : expected_(expected), run_(std::move(run)) {}

  Ended program(const json& program) {
    Number answer = program.at("start");
    const int generations = program.at("generations");
    for (int i = 0; i < generations; ++i) {
      ++expected_.runs;
      answer = steps(program.at("steps"), generation_label(i), answer);
    }
    Ended ended{Ended::How::kCompleted, answer};
    if (is_cancelled_) {
      ended.how = Ended::How::kCancelled;
    } else if (program.at("fails")) {
      ended.how = Ended::How::kFailed;
    }
    if (ended.how != Ended::How::kCompleted && !undo_.empty()) {
      std::ranges::reverse(undo_);
      expected_.undone.push_back(undo_);
    }
    return ended;
  }

 private:
  Number steps(const json& list, const std::string& prefix, Number answer) {
    for (std::size_t i = 0; i < list.size() && !is_cancelled_; ++i) {
      answer = step(list[i], step_label(prefix, i), answer);
    }
    return answer;
  }

  Number step(const json& step, const std::string& label, Number from) {
    ++expected_.steps;
    const std::string what = step.at("do");
    if (what == "run" || what == "task" || what == "promise" || what == "child") {
      return mix(from, leaf(step, label, from));
    }
    if (what == "signal") {
      for (std::size_t i = 0; i < step.at("count"); ++i) {
        from = mix(from, signal(label, i));
      }
      return from;
    }
    if (what == "all" || what == "any") {
      return leaves(step.at("of"), label, from);
    }
    if (what == "in_time") {
      return mix(from, leaf(step.at("of"), label, from));
    }
    if (what == "transact") {
      expected_.transacted.push_back(run_ + " " + label);
      return mix(from, value_of(label, from));
    }
    if (what == "version") {
      execute(label, 1);
      return mix(mix(from, 2), value_of(label, from));
    }
    if (what == "undo") {
      undo_.push_back(run_ + " " + label);
      return mix(from, value_of(label, 0));
    }
    if (what == "until_cancelled") {
      expected_.deeds.push_back({Deed::Kind::kCancel, run_, "", 0});
      is_cancelled_ = step.at("leaves");
      return mix(from, value_of(label, 0));
    }
    if (what == "echo") {
      ++expected_.runs;
      return mix(mix(from, value_of(label, from)), value_of(label, 1));
    }
    if (what == "if") {
      return steps(step.at(from % 2 == 0 ? "then" : "else"), label, from);
    }
    if (what == "branch") {
      return mix(from, steps(step.at("steps"), label, from));
    }
    if (what == "join") {
      const json& arms = step.at("arms");
      Number answer = from;
      for (std::size_t i = 0; i < arms.size(); ++i) {
        answer = mix(answer, steps(arms[i], part_label(label, 'a', i), from));
      }
      return answer;
    }
    if (what == "loop") {
      Number state = from;
      for (std::size_t i = 0; i < step.at("times"); ++i) {
        state = mix(state, steps(step.at("steps"), part_label(label, 'i', i), state));
      }
      return mix(from, state);
    }
    // sleep, no_signal, state, too_late, cancel_timer: they give what they always give.
    return mix(from, value_of(label, 0));
  }

  Number leaves(const json& list, const std::string& label, Number from) {
    Number answer = from;
    for (std::size_t i = 0; i < list.size(); ++i) {
      answer = mix(answer, leaf(list[i], part_label(label, 'f', i), from));
    }
    return answer;
  }

  Number leaf(const json& step, const std::string& label, Number from) {
    const std::string what = step.at("do");
    if (what == "signal") {
      return signal(label, 0);
    }
    if (what == "promise") {
      const bool is_rejected = step.at("rejected");
      const Number value = value_of(label, is_rejected ? 2 : 1);
      expected_.deeds.push_back(
          {is_rejected ? Deed::Kind::kReject : Deed::Kind::kResolve, run_, label, value});
      return value;
    }
    if (what == "child") {
      const Ended ended = Evaluation(expected_, child_id(run_, label)).program(step.at("program"));
      return ended.how == Ended::How::kFailed ? value_of(failure_of(ended.answer), 0)
                                              : ended.answer;
    }
    const bool for_good = step.at("for_good");
    execute(label, step.at("failures").get<int>() + (for_good ? 0 : 1));
    return for_good ? value_of(label, 3) : value_of(label, from);
  }

  Number signal(const std::string& label, std::size_t index) {
    const Number value = value_of(part_label(label, 's', index), 1);
    expected_.deeds.push_back({Deed::Kind::kSignal, run_, label, value});
    return value;
  }

  void execute(const std::string& label, int attempts) {
    expected_.executed.push_back({run_ + " " + label, attempts});
  }

  Expected& expected_;
  const std::string run_;
  std::vector<std::string> undo_;
  bool is_cancelled_ = false;
};

}  // namespace

Expected expect(const json& program, const std::string& run) {
  Expected expected;
  const Ended ended = Evaluation(expected, run).program(program);
  switch (ended.how) {
    case Ended::How::kCompleted:
      expected.outcome = completed_text(ended.answer);
      break;
    case Ended::How::kFailed:
      expected.outcome = failed_text(failure_of(ended.answer));
      break;
    case Ended::How::kCancelled:
      expected.outcome = cancelled_text(kCancelReason);
      break;
  }
  return expected;
}

}  // namespace pawl::fleet
