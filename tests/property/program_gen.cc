#include "property/program_gen.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "property/program_check.h"

namespace pawl::property {
namespace {

namespace json = boost::json;

// How often a step of each sort is tried, for one program. Most programs leave several sorts out
// altogether, so that the others meet more often.
struct Weights {
  int task, run, timer, promise, child, signal, state, branch, join, loop, race, all, handler, test,
      cancel, reads, compensate, shield, removed, check_version;
};

// Where a list of steps stands.
struct Place {
  int depth = 0;
  int loop_depth = 0;
  bool in_join = false;
  bool loops_allowed = true;
  // `return` here would end the program.
  bool at_root = true;
  // An error would be caught.
  bool in_try = false;
  // A signal for this loop, or arm, more than for others.
  std::string signal;
  // Ends the names of keys and signals that must be this arm's own.
  std::string own;
};

class Generator {
 public:
  Generator(Rng& rng, const GenOptions& options) : rng_(rng), options_(options) {
    const auto weight = [&](int usual, int percent) { return rng_.chance(percent) ? usual : 0; };
    const bool strict = options.matching == "strict";
    weights_ = {.task = weight(8, 85),
                .run = weight(8, 80),
                .timer = weight(5, 65),
                .promise = weight(4, 55),
                .child = weight(4, 50),
                .signal = weight(5, 60),
                .state = weight(6, 70),
                .branch = weight(3, 45),
                .join = weight(4, 55),
                .loop = options.loops ? weight(9, 75) : 0,
                .race = weight(5, 60),
                .all = weight(4, 55),
                .handler = weight(4, 60),
                .test = weight(5, 60),
                .cancel = weight(4, 45),
                .reads = weight(5, 65),
                .compensate = weight(2, 35),
                .shield = weight(2, 35),
                .removed = strict ? weight(1, 15) : 0,
                .check_version = strict ? weight(1, 15) : 0};
    keys_percent_ = rng_.chance(25) ? rng_.between(15, 60) : 0;
    versions_percent_ = rng_.chance(20) ? rng_.between(10, 30) : 0;
    failures_percent_ = rng_.chance(60) ? rng_.between(5, 15) : 0;
    // With small pools the same name comes again, which is what the n-th of a kind and name is
    // about.
    names_ = static_cast<std::size_t>(rng_.between(1, 4));
    budget_ = rng_.between(3, 25);
  }

  json::array program() {
    Place place;
    place.signal = fresh("q");
    json::array steps = list(place, scope_, budget_);
    finish(steps);
    return steps;
  }

 private:
  std::string fresh(const char* prefix) { return prefix + std::to_string(++count_); }

  std::string pooled(const char* prefix) { return prefix + std::to_string(rng_.below(names_)); }

  std::vector<std::string> names_where(const Scope& scope,
                                       const std::function<bool(const Var&)>& test) const {
    std::vector<std::string> names;
    for (const auto& [name, var] : scope.vars) {
      if (test(var)) {
        names.push_back(name);
      }
    }
    return names;
  }

  std::vector<std::string> open_futures(const Scope& scope) const {
    return names_where(scope,
                       [](const Var& var) { return var.kind == VarKind::kFuture && !var.frozen; });
  }

  // A constant, or something that reads variables.
  json::value expression(const Scope& scope) {
    const std::vector<std::string> names = names_where(scope, [](const Var&) { return true; });
    if (names.empty() || rng_.chance(40)) {
      return small_value(rng_);
    }
    json::value read = json::object{{"$", rng_.pick(names)}};
    switch (rng_.below(4)) {
      case 0:
        return json::array{read, small_value(rng_)};
      case 1:
        return json::object{{"v", read}};
      default:
        return read;
    }
  }

  // Adds `step` to `steps`, at another version or with a key at times.
  void add(json::array& steps, json::object step, Scope& scope) {
    const std::string_view verb = verb_of(step);
    constexpr std::string_view kKeyed[] = {"task", "run", "timer", "promise", "child", "signal"};
    if (std::find(std::begin(kKeyed), std::end(kKeyed), verb) != std::end(kKeyed) &&
        rng_.chance(keys_percent_)) {
      step["stepKey"] = fresh("key");
    }
    if (makes_one_command(step) && rng_.chance(versions_percent_)) {
      step = json::object{{"v", rng_.between(1, 3)}, {"do", std::move(step)}};
    }
    check_step(step, scope);
    steps.push_back(std::move(step));
  }

  // A command whose outcome can be awaited, named `as`.
  json::object future_step(const Place& place, const Scope& scope, const std::string& as) {
    const int total = weights_.task + weights_.run + weights_.timer + weights_.promise +
                      weights_.child + weights_.signal;
    int at = total == 0 ? -1 : rng_.between(0, total - 1);
    const auto taken = [&](int weight) {
      const bool here = at >= 0 && at < weight;
      at -= weight;
      return here;
    };
    json::object step;
    if (taken(weights_.run)) {
      step["run"] = pooled("f");
      if (rng_.chance(place.in_try ? 3 * failures_percent_ : failures_percent_)) {
        step["throws"] = pooled("broken");
      } else if (rng_.chance(85)) {
        step["returns"] = expression(scope);
      }
      if (rng_.chance(20)) {
        step["input"] = expression(scope);
      }
    } else if (taken(weights_.timer)) {
      step["timer"] = rng_.between(1, 5) * 100;
      if (rng_.chance(40)) {
        step["id"] = pooled("t");
      }
    } else if (taken(weights_.promise)) {
      step["promise"] = pooled("p");
      if (rng_.chance(40)) {
        step["timeout"] = 500;
      }
    } else if (taken(weights_.child)) {
      step["child"] = pooled("c");
      step["kind"] = pooled("K");
      if (rng_.chance(30)) {
        step["input"] = expression(scope);
      }
    } else if (taken(weights_.signal)) {
      step["signal"] = signal_name(place);
      if (rng_.chance(40)) {
        step["timeout"] = 700;
      }
    } else {
      step["task"] = pooled("A");
      if (rng_.chance(30)) {
        step["input"] = expression(scope);
      }
    }
    step["as"] = as;
    return step;
  }

  std::string signal_name(const Place& place) {
    return rng_.chance(50) ? place.signal : pooled("s") + place.own;
  }

  void command(json::array& steps, const Place& place, Scope& scope) {
    add(steps, future_step(place, scope, fresh("x")), scope);
  }

  void await(json::array& steps, Scope& scope) {
    const std::vector<std::string> open = open_futures(scope);
    if (!open.empty()) {
      add(steps, {{"await", rng_.pick(open)}}, scope);
    }
  }

  // Up to `most` different open futures, some made for it.
  std::vector<std::string> some_futures(json::array& steps, const Place& place, Scope& scope,
                                        std::size_t most) {
    while (open_futures(scope).size() < 2) {
      command(steps, place, scope);
    }
    std::vector<std::string> open = open_futures(scope);
    for (std::size_t i = open.size(); i > 1; --i) {
      std::swap(open[i - 1], open[rng_.below(i)]);
    }
    open.resize(std::min(open.size(), most));
    return open;
  }

  static json::array names_json(const std::vector<std::string>& names) {
    json::array array;
    for (const std::string& name : names) {
      array.emplace_back(name);
    }
    return array;
  }

  void race(json::array& steps, const Place& place, Scope& scope, int budget) {
    const std::vector<std::string> racers = some_futures(steps, place, scope, 2 + rng_.below(2));
    const std::string winner = fresh("w");
    add(steps, {{"await_any", names_json(racers)}, {"as", winner}}, scope);
    if (rng_.chance(60)) {
      // Goes on by who won: the loser can be cancelled or awaited there.
      condition(steps, place, scope, winner, json::value(rng_.pick(racers)), budget);
    }
  }

  void condition(json::array& steps, const Place& place, Scope& scope, const std::string& name,
                 const json::value& equals, int budget) {
    json::object step{{"if", name}, {"equals", equals}};
    Scope yes = refine_scope(scope, name, equals, true);
    Scope no = refine_scope(scope, name, equals, false);
    Place inner = place;
    ++inner.depth;
    step["then"] = list(inner, yes, 1 + budget / 3);
    if (rng_.chance(20)) {
      leave(step["then"].as_array(), place, yes);
    }
    if (rng_.chance(50)) {
      step["else"] = list(inner, no, 1 + budget / 3);
    }
    add(steps, std::move(step), scope);
  }

  // An early end of the place: return, throw, or (in the root only) recur.
  void leave(json::array& steps, const Place& place, Scope& scope) {
    if (!scope.reachable) {
      return;
    }
    const std::size_t how = rng_.below(10);
    if (how < 6) {
      add(steps, {{"return", expression(scope)}}, scope);
    } else if (how < (place.in_try ? 9 : 8) || !place.at_root) {
      add(steps, {{"throw", pooled("thrown")}}, scope);
    } else {
      add(steps, {{"recur", expression(scope)}}, scope);
    }
  }

  void structure_branch(json::array& steps, const Place& place, Scope& scope, int budget) {
    Place inner = place;
    ++inner.depth;
    inner.at_root = false;
    Scope inside = scope;
    json::object step{{"branch", list(inner, inside, 1 + budget / 2)}};
    if (rng_.chance(50)) {
      step["as"] = fresh("b");
    }
    add(steps, std::move(step), scope);
  }

  void structure_join(json::array& steps, const Place& place, Scope& scope, int budget) {
    Place inner = place;
    ++inner.depth;
    inner.at_root = false;
    inner.in_join = true;
    const bool separate = !options_.arms_share_with_loops && inner.loops_allowed && rng_.chance(60);
    if (!options_.arms_share_with_loops && !separate) {
      inner.loops_allowed = false;
    }
    json::array arms;
    // An arm does not see what another one does with the futures of before the join.
    Scope left = scope;
    const int count = rng_.between(1, 3);
    for (int i = 0; i < count; ++i) {
      Scope arm = arm_scope(left);
      if (separate) {
        inner.own = fresh("_");
        inner.signal = fresh("q");
      }
      arms.push_back(list(inner, arm, 1 + budget / (count + 1)));
      for (const std::string& name : arm.touched) {
        left.vars.erase(name);
      }
    }
    json::object step{{"join", std::move(arms)}};
    if (rng_.chance(50)) {
      step["as"] = fresh("j");
    }
    add(steps, std::move(step), scope);
  }

  void structure_loop(json::array& steps, const Place& place, Scope& scope, int budget) {
    Place inner = place;
    ++inner.depth;
    ++inner.loop_depth;
    inner.at_root = false;
    inner.signal = fresh("q");
    Scope body = loop_scope(scope);
    json::array inside = list(inner, body, 1 + budget / 2);
    if (body.reachable && rng_.chance(25)) {
      json::array out{json::object{{"return", expression(body)}}};
      json::object test{{"if", "i"}, {"equals", rng_.between(1, 3)}, {"then", std::move(out)}};
      Scope start = loop_scope(scope);
      inside.insert(body.vars.contains("i") ? inside.end() : inside.begin(), std::move(test));
      // The value may read what is not set yet at the start.
      Scope again = loop_scope(scope);
      if (!check_step(json::object{{"loop", inside}, {"times", 1}}, again).empty()) {
        inside.erase(inside.begin());
      }
    }
    json::object step{{"loop", std::move(inside)}, {"times", rng_.between(0, 5)}};
    if (rng_.chance(70)) {
      step["checkpointEvery"] = rng_.between(1, 3);
    }
    if (rng_.chance(60)) {
      step["as"] = fresh("l");
    }
    add(steps, std::move(step), scope);
  }

  void structure_try(json::array& steps, const Place& place, Scope& scope, int budget) {
    Place inner = place;
    ++inner.depth;
    Scope body = scope;
    inner.in_try = true;
    json::array tried = list(inner, body, 1 + budget / 2);
    inner.in_try = place.in_try;
    if (body.reachable && rng_.chance(30)) {
      await(tried, body);
    }
    if (body.reachable && rng_.chance(15)) {
      add(tried, {{"throw", pooled("thrown")}}, body);
    }
    // What the handler may use is found by checking a try with an empty one.
    Scope handler = scope;
    for (const std::string& name : body.touched) {
      handler.vars.erase(name);
    }
    handler.races.clear();
    handler.vars.erase("i");
    json::array caught;
    if (rng_.chance(60)) {
      // First of all: another handler may have written it after an await.
      Scope with_error = handler;
      with_error.vars["error"] = {};
      add(caught, {{"set", pooled("k") + place.own}, {"value", json::object{{"$", "error"}}}},
          with_error);
    }
    for (json::value& step : list(inner, handler, rng_.between(0, 1 + budget / 3))) {
      caught.push_back(std::move(step));
    }
    if (handler.reachable && rng_.chance(15)) {
      leave(caught, place, handler);
    }
    add(steps, {{"try", std::move(tried)}, {"catch", std::move(caught)}}, scope);
  }

  void structure_shield(json::array& steps, const Place& place, Scope& scope, int budget) {
    Place inner = place;
    ++inner.depth;
    Scope inside = scope;
    add(steps, {{"shield", list(inner, inside, 1 + budget / 3)}}, scope);
  }

  void read(json::array& steps, const Place& place, Scope& scope) {
    const std::string as = fresh("r");
    json::value test = rng_.chance(50);
    switch (rng_.below(6)) {
      case 0:
        add(steps, {{"now", true}, {"as", as}}, scope);
        return;
      case 1:
        add(steps, {{"uuid", true}, {"as", as}}, scope);
        return;
      case 2:
        add(steps, {{"cancelled", true}, {"as", as}}, scope);
        break;
      case 3:
      case 4:
        add(steps, {{"has_signal", signal_name(place)}, {"as", as}}, scope);
        break;
      default:
        add(steps, {{"drain", signal_name(place)}, {"as", as}}, scope);
        test = json::array{};
        break;
    }
    if (rng_.chance(40)) {
      // Makes what was read matter for the log.
      condition(steps, place, scope, as, test, 2);
    }
  }

  void state(json::array& steps, const Place& place, Scope& scope) {
    switch (rng_.below(5)) {
      case 0:
        add(steps, {{"clear", pooled("k") + place.own}}, scope);
        break;
      case 1:
      case 2:
        add(steps, {{"get", pooled("k") + place.own}, {"as", fresh("g")}}, scope);
        break;
      default:
        add(steps, {{"set", pooled("k") + place.own}, {"value", expression(scope)}}, scope);
        break;
    }
  }

  void one_step(json::array& steps, const Place& place, Scope& scope, int budget) {
    const bool deep = place.depth >= 4;
    const Weights& w = weights_;
    const bool loop_here = place.loops_allowed && place.loop_depth < 2;
    const std::vector<std::pair<int, std::function<void()>>> choices = {
        {w.task + w.run + w.timer + w.promise + w.child + w.signal + 1,
         [&] { command(steps, place, scope); }},
        {open_futures(scope).empty() ? 0 : 12, [&] { await(steps, scope); }},
        {w.state, [&] { state(steps, place, scope); }},
        {deep ? 0 : w.branch, [&] { structure_branch(steps, place, scope, budget); }},
        {deep ? 0 : w.join, [&] { structure_join(steps, place, scope, budget); }},
        {deep || !loop_here ? 0 : w.loop, [&] { structure_loop(steps, place, scope, budget); }},
        {deep ? 0 : w.race, [&] { race(steps, place, scope, budget); }},
        {w.all,
         [&] {
           const std::vector<std::string> names =
               some_futures(steps, place, scope, 2 + rng_.below(3));
           add(steps, {{"await_all", names_json(names)}}, scope);
         }},
        {deep ? 0 : w.handler, [&] { structure_try(steps, place, scope, budget); }},
        {deep ? 0 : w.test,
         [&] {
           const std::vector<std::string> names =
               names_where(scope, [](const Var& var) { return var.kind == VarKind::kValue; });
           if (!names.empty()) {
             const json::value equals = small_value(rng_);
             condition(steps, place, scope, rng_.pick(names), equals, budget);
           }
         }},
        {w.cancel,
         [&] {
           const std::vector<std::string> names = names_where(scope, [](const Var& var) {
             return var.kind == VarKind::kFuture && var.cancellable;
           });
           if (!names.empty()) {
             add(steps, {{"cancel", rng_.pick(names)}}, scope);
           }
         }},
        {w.reads, [&] { read(steps, place, scope); }},
        {w.compensate,
         [&] {
           json::object step{{"compensate", pooled("undo")}};
           if (rng_.chance(50)) {
             step["input"] = expression(scope);
           }
           add(steps, std::move(step), scope);
         }},
        {deep ? 0 : w.shield, [&] { structure_shield(steps, place, scope, budget); }},
        {w.removed,
         [&] {
           const std::vector<std::string> kinds = {"task",  "operation", "timer", "promise",
                                                   "child", "state",     "signal"};
           json::object step{{"removed", rng_.pick(kinds)}, {"name", "gone"}};
           if (rng_.chance(keys_percent_)) {
             step["stepKey"] = fresh("key");
           }
           add(steps, std::move(step), scope);
         }},
        {w.check_version,
         [&] { add(steps, {{"check_version", rng_.between(1, 3)}, {"as", fresh("n")}}, scope); }},
    };
    int total = 0;
    for (const auto& choice : choices) {
      total += choice.first;
    }
    int at = rng_.between(0, total - 1);
    for (const auto& [weight, make] : choices) {
      if (at < weight) {
        make();
        return;
      }
      at -= weight;
    }
  }

  json::array list(const Place& place, Scope& scope, int budget) {
    json::array steps;
    const int wanted = place.depth == 0 ? budget : rng_.between(1, std::max(1, budget));
    for (int made = 0; made < wanted && scope.reachable && budget_ > 0; ++made) {
      --budget_;
      one_step(steps, place, scope, std::min(budget - made, budget_));
      if (place.in_join) {
        // A loop in another arm may write it.
        scope.vars.erase("i");
      }
    }
    return steps;
  }

  // Waits for some of what is open, and ends the program in one of the possible ways.
  void finish(json::array& steps) {
    while (scope_.reachable && !open_futures(scope_).empty() && rng_.chance(70)) {
      await(steps, scope_);
    }
    if (!scope_.reachable || rng_.chance(15)) {
      return;
    }
    const std::size_t how = rng_.below(12);
    if (how == 0) {
      add(steps, {{"recur", expression(scope_)}}, scope_);
    } else if (how == 1) {
      add(steps, {{"throw", "at the end"}}, scope_);
    } else {
      json::array result;
      for (const auto& [name, var] : scope_.vars) {
        if (result.size() < 6 && rng_.chance(60)) {
          result.push_back(json::object{{"$", name}});
        }
      }
      add(steps, {{"return", std::move(result)}}, scope_);
    }
  }

  Rng& rng_;
  const GenOptions options_;
  Weights weights_{};
  int keys_percent_ = 0;
  int versions_percent_ = 0;
  int failures_percent_ = 0;
  std::size_t names_ = 1;
  int budget_ = 0;
  int count_ = 0;
  Scope scope_;
};

}  // namespace

json::array generate_program(Rng& rng, const GenOptions& options) {
  return Generator(rng, options).program();
}

json::value small_value(Rng& rng) {
  switch (rng.below(12)) {
    case 0:
      return nullptr;
    case 1:
      return true;
    case 2:
      return false;
    case 3:
      return "text";
    case 4:
      return json::array{1, "two"};
    case 5:
      return json::object{{"n", rng.between(0, 2)}};
    case 6:
    case 7:
      return rng.between(2, 9);
    default:
      return rng.between(0, 1);
  }
}

}  // namespace pawl::property
