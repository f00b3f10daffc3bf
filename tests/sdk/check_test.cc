// What a program answers when `pawl check` asks it about a run: each verdict, the report, what
// would make the code fit, warnings. The runs are real ones, made by the first build of each
// workflow in a test kit.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "format/log_json.h"
#include "format/payload_json.h"
#include "pawl/pawl.hpp"
#include "pawl/testing.hpp"
#include "replay/log.h"
#include "sdk/check_answer.h"
#include "sdk/testing_history.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

using Ctx = Context;

int executed = 0;  // By anything but the builds that make the runs.

int fail_test() {
  ++executed;
  return -1;
}

// --- Making runs ---------------------------------------------------------------------------------

struct Recorded {
  json::object run;

  std::string line() const { return json::serialize(run); }
};

Recorded export_run(testing::Environment& env, const std::string& id, const std::string& kind,
                    json::value input = nullptr) {
  const testing::History history = env.history(id);
  replay::Log log;
  for (const auto& stored : history.entries()->all) {
    EXPECT_TRUE(log.load(stored.view()));
  }
  EXPECT_TRUE(log.finish_loading());
  const Description description = env.get(id).describe();
  Recorded recorded;
  recorded.run["id"] = id;
  recorded.run["number"] = 1;
  recorded.run["runId"] = description.info.uuid;
  recorded.run["kind"] = kind;
  recorded.run["definition"] = "";
  recorded.run["status"] = to_string(description.status);
  recorded.run["startedAt"] = history.entries()->started_ms;
  recorded.run["input"] = std::move(input);
  recorded.run["log"] = format::export_log(log);
  return recorded;
}

// Lets the code run until it waits for something from outside.
template <class F>
Recorded record(F workflow, const std::function<void(testing::Environment&)>& act = {},
                WorkflowOptions options = {}) {
  Registry registry;
  registry.workflow("w", workflow, std::move(options)).activity("task", [](int i) { return i; });
  testing::Environment env(registry);
  env.start("w", "run-1", 7);
  env.run_until_idle();
  if (act) {
    act(env);
    env.run_until_idle();
  }
  return export_run(env, "run-1", "w", 7);
}

json::object ask(const Registry& registry, const std::string& line, EngineOptions options = {}) {
  const detail::CheckAnswerer answerer(registry, options);
  const json::value answer = json::parse(answerer.answer(line));
  EXPECT_EQ(answer.at("type"), "answer");
  return answer.get_object();
}

template <class F>
json::object ask(F workflow, const Recorded& recorded, WorkflowOptions options = {}) {
  executed = 0;
  Registry registry;
  registry.workflow("w", workflow, std::move(options)).activity("task", [](int) {
    return fail_test();
  });
  json::object answer = ask(registry, recorded.line());
  EXPECT_EQ(executed, 0);
  EXPECT_EQ(answer.at("id"), "run-1");
  EXPECT_EQ(answer.at("kind"), "w");
  return answer;
}

std::string text_of(const json::value& value) { return std::string(value.as_string()); }

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> warnings_of(const json::object& answer) {
  std::vector<std::string> codes;
  for (const json::value& warning : answer.at("warnings").as_array()) {
    codes.push_back(text_of(warning.at("code")));
  }
  return codes;
}

const json::object& first_advice(const json::object& answer) {
  return answer.at("advice").at(0).as_object();
}

using Codes = std::vector<std::string>;

std::vector<std::string> codes_of(const json::object& advice) {
  std::vector<std::string> codes;
  for (const json::value& code : advice.at("code").as_array()) {
    codes.push_back(text_of(code));
  }
  return codes;
}

// --- The workflow, and its later builds ----------------------------------------------------------

// reserve, charge, then a signal.
Workflow<int> first(Ctx ctx, int number) {
  const int a = co_await ctx.run("reserve", [](int i) { return i + 1; }, number);
  const int b = co_await ctx.run("charge", [](int i) { return i + 1; }, a);
  co_await ctx.signal("go");
  co_return b;
}

Workflow<int> same(Ctx ctx, int number) {
  const int a = co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
  const int b = co_await ctx.run("charge", [](int) { return fail_test(); }, a);
  co_await ctx.signal("go");
  co_return co_await ctx.run("later", [](int) { return fail_test(); }, b);
}

TEST(CheckAnswer, HelloSaysWhatTheProgramHas) {
  Registry registry;
  registry.workflow("w", first, {.fingerprint = "f1"}).activity("task", [](int i) { return i; });
  const detail::CheckAnswerer answerer(registry, {});
  const json::value hello = json::parse(answerer.hello());
  EXPECT_EQ(hello.at("type"), "hello");
  EXPECT_EQ(hello.at("protocol"), "pawl-check/1");
  EXPECT_EQ(hello.at("kinds").at("w"), "f1");
  EXPECT_EQ(hello.at("activities"), json::array({"task"}));
}

TEST(CheckAnswer, CodeThatGrowsAtItsEndFits) {
  const json::object answer = ask(same, record(first));
  EXPECT_EQ(answer.at("verdict"), "fits");
  EXPECT_EQ(answer.at("replayed"), 3);
  EXPECT_EQ(answer.at("entries"), 3);
  EXPECT_EQ(answer.at("waiting"), json::array({"{3} Signal(0) go:1"}));
  EXPECT_EQ(answer.at("added"), json::array());
  EXPECT_EQ(warnings_of(answer), Codes());
  EXPECT_EQ(answer.at("advice"), json::array());
}

TEST(CheckAnswer, StepsThatWouldBeNewAreListedAndNotExecuted) {
  const Recorded recorded =
      record(first, [](testing::Environment& env) { env.crash_after("run-1", 99); });
  const auto build = [](Ctx ctx, int number) -> Workflow<void> {
    co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    co_await ctx.run("charge", [](int) { return fail_test(); }, 8);
    auto go = ctx.signal("go");
    co_await ctx.schedule<int>("task", 1);
    co_await ctx.transact("book", [](Transaction&) { return fail_test(); });
    co_await go;
  };
  const json::object answer = ask(build, recorded);
  EXPECT_EQ(answer.at("verdict"), "fits");
  EXPECT_EQ(answer.at("added"), json::array({"{4} Task(0) task:1"}));
  EXPECT_EQ(answer.at("waiting"), json::array({"{4} Task(0) task:1"}));
}

TEST(CheckAnswer, AnInsertedStepNeedsAVersion) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    const int a = co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    const int c = co_await ctx.run("audit", [](int) { return fail_test(); }, a);
    const int b = co_await ctx.run("charge", [](int) { return fail_test(); }, a);
    co_await ctx.signal("go");
    co_return b + c;
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("verdict"), "violation");
  const json::object& violation = answer.at("violation").as_object();
  EXPECT_EQ(violation.at("code"), "PAWL-1002");
  EXPECT_EQ(violation.at("location"), "{2}");
  EXPECT_EQ(violation.at("headline"),
            "Operation name mismatch at Operation(1): expected 'audit', got 'charge'");
  EXPECT_EQ(violation.at("label"), "{2} Operation(1) audit:1");
  EXPECT_TRUE(contains(text_of(violation.at("expected")), "Operation 'audit'"));
  EXPECT_TRUE(contains(text_of(violation.at("got")), "OperationCompleted 'charge'"));
  EXPECT_TRUE(contains(text_of(violation.at("sourceNow")), "sdk/check_test.cc:"));
  EXPECT_TRUE(contains(text_of(violation.at("sourceThen")), "sdk/check_test.cc:"));
  EXPECT_NE(violation.at("sourceNow"), violation.at("sourceThen"));
  EXPECT_TRUE(contains(text_of(violation.at("lastAgreed")), "reserve"));
  EXPECT_TRUE(contains(text_of(violation.at("report")), "what to do"));
  EXPECT_EQ(answer.at("replayed"), 1);
  const json::object& advice = first_advice(answer);
  EXPECT_EQ(codes_of(advice), Codes({"ctx.v(2).run(\"audit\", …)"}));
  EXPECT_EQ(advice.at("tried"), true);
  EXPECT_EQ(advice.at("comparedAll"), true);
  EXPECT_EQ(advice.at("assumes"), json::array({"{1.1} Operation(1) audit:1 succeeds with 0"}));
  EXPECT_TRUE(contains(text_of(advice.at("text")), "at sdk/check_test.cc:"));
}

// What the advice above says, done.
TEST(CheckAnswer, AnInsertedStepWithAVersionFits) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    const int a = co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    const int c = co_await ctx.v(2).run("audit", [](int) { return fail_test(); }, a);
    const int b = co_await ctx.run("charge", [](int) { return fail_test(); }, a);
    co_await ctx.signal("go");
    co_return b + c;
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("verdict"), "fits");
  EXPECT_EQ(answer.at("added"), json::array({"{1.1} Operation(1) audit:1"}));
  EXPECT_EQ(answer.at("waiting"), json::array({"{1.1} Operation(1) audit:1"}));
  EXPECT_EQ(warnings_of(answer), Codes({"compared_if"}));
}

// Behind a step that returns nothing it is certain what comes.
TEST(CheckAnswer, WhatComesAfterAStepThatReturnsNothingIsCompared) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    co_await ctx.v(2).run("audit", [] { fail_test(); });
    const int a = co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    co_await ctx.signal("go");
    co_return a;
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("verdict"), "violation");
  EXPECT_EQ(answer.at("assumes"), json::array({"{0.1} Operation(0) audit:1 succeeds"}));
  EXPECT_EQ(answer.at("violation").at("code"), "PAWL-1001");
  EXPECT_EQ(codes_of(first_advice(answer)),
            Codes({"ctx.removed(pawl::StepKind::kOperation, \"charge\")"}));
}

// Behind one that returns a value, not.
TEST(CheckAnswer, WhatComesAfterAStepThatReturnsAValueIsNotClaimed) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    if (co_await ctx.v(2).run("is_new", [] { return fail_test() != 0; })) {
      co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
      co_await ctx.run("charge", [](int) { return fail_test(); }, number);
    }
    co_await ctx.signal("go");
    co_return 1;
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("verdict"), "fits");
  EXPECT_EQ(warnings_of(answer), Codes({"may_disagree"}));
}

// A timer that runs beside something recorded may never fire.
TEST(CheckAnswer, ATimeoutIsNotTakenForGranted) {
  const auto before = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    auto a = ctx.signal("a");
    auto b = ctx.signal("b");
    co_await a;
    co_await b;
  };
  const auto after = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    auto a = ctx.signal("a");
    auto late = ctx.v(2).sleep(1h);
    const auto winner = co_await any(a, late);
    if (winner.index() == 1) {
      throw std::runtime_error("too late");
    }
    co_await ctx.signal("b");
  };
  const json::object answer = ask(after, record(before));
  EXPECT_EQ(answer.at("verdict"), "fits");
  EXPECT_EQ(warnings_of(answer), Codes({"may_disagree"}));
}

TEST(CheckAnswer, WhatCannotBeComparedYetIsTold) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    co_await ctx.v(2).signal<WithEvent<int>>("approved");  // No such value can be made up.
    co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    co_return 1;
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("verdict"), "fits");
  EXPECT_EQ(answer.at("replayed"), 0);
  EXPECT_EQ(warnings_of(answer), Codes({"not_all_compared"}));
  EXPECT_TRUE(contains(text_of(answer.at("warnings").at(0).at("text")), "0 of 3 entries"));
}

TEST(CheckAnswer, ARemovedStepIsToBeSaid) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    const int b = co_await ctx.run("charge", [](int) { return fail_test(); }, number);
    co_await ctx.signal("go");
    co_return b;
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("verdict"), "violation");
  EXPECT_EQ(codes_of(first_advice(answer)),
            Codes({"ctx.removed(pawl::StepKind::kOperation, \"reserve\")"}));
  EXPECT_EQ(first_advice(answer).at("tried"), true);
}

TEST(CheckAnswer, ARenamedStepIsARemovedAndAnInsertedOne) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    const int a = co_await ctx.run("hold", [](int) { return fail_test(); }, number);
    const int b = co_await ctx.run("charge", [](int) { return fail_test(); }, a);
    co_await ctx.signal("go");
    co_return b;
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("verdict"), "violation");
  EXPECT_EQ(
      codes_of(first_advice(answer)),
      Codes({"ctx.v(2).run(\"hold\", …)", "ctx.removed(pawl::StepKind::kOperation, \"reserve\")"}));
  EXPECT_EQ(first_advice(answer).at("tried"), true);
}

// The code waits at the new name; what would come after that is found all the same.
TEST(CheckAnswer, ARenamedSignal) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    const int a = co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    const int b = co_await ctx.run("charge", [](int) { return fail_test(); }, a);
    co_await ctx.signal("go on");
    co_return b;
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("verdict"), "violation");
  const json::object& advice = first_advice(answer);
  EXPECT_EQ(codes_of(advice), Codes({"ctx.v(2).signal(\"go on\", …)",
                                     "ctx.removed(pawl::StepKind::kSignal, \"go\")"}));
  EXPECT_EQ(advice.at("comparedAll"), true);
  EXPECT_EQ(advice.at("assumes"), json::array({"{2.1} Signal(0) go on:1 comes"}));
}

TEST(CheckAnswer, ALeftOutEndIsToBeSaidThere) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    co_return co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("violation").at("code"), "PAWL-1005");
  EXPECT_EQ(codes_of(first_advice(answer)),
            Codes({"ctx.removed(pawl::StepKind::kOperation, \"charge\")",
                   "ctx.removed(pawl::StepKind::kSignal, \"go\")"}));
  EXPECT_TRUE(contains(text_of(first_advice(answer).at("text")), "at the end of the workflow"));
}

Workflow<void> two_tasks(Ctx ctx, int /*number*/) {
  auto a = ctx.signal("a");
  auto b = ctx.signal("b");
  co_await a;
  co_await b;
}

TEST(CheckAnswer, AnotherOrderIsNoMatterOfVersions) {
  const auto build = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    auto b = ctx.signal("b");
    auto a = ctx.signal("a");
    co_await a;
    co_await b;
  };
  const json::object answer = ask(build, record(two_tasks));
  EXPECT_EQ(answer.at("verdict"), "violation");
  ASSERT_EQ(answer.at("advice").as_array().size(), 2);
  EXPECT_TRUE(contains(text_of(first_advice(answer).at("text")), "in another order"));
  EXPECT_EQ(first_advice(answer).at("tried"), false);
  const json::object& by_name = answer.at("advice").at(1).as_object();
  EXPECT_EQ(codes_of(by_name), Codes({"{.matching = pawl::Matching::kByName}"}));
  EXPECT_EQ(by_name.at("tried"), true);
  EXPECT_EQ(ask(build, record(two_tasks), {.matching = Matching::kByName}).at("verdict"), "fits");
}

// A step in a branch, on a line that runs for several branches.
TEST(CheckAnswer, StepsInBranchesAndLoops) {
  const auto before = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    co_await ctx.loop(0,
                      [](Branch inner, int i) -> Workflow<LoopStep<int>> {
                        co_await inner.run("step", [](int n) { return n; }, i);
                        co_await inner.branch([](Branch arm) -> Workflow<void> {
                          co_await arm.run("inside", [] { return 1; });
                        });
                        if (i == 4) {
                          co_await inner.signal("go");
                        }
                        co_return continue_with(i + 1);
                      },
                      {.checkpoint_every = 3});
  };
  const Recorded recorded = record(before);
  EXPECT_EQ(ask(before, recorded).at("verdict"), "fits");
  const auto inserted = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    co_await ctx.loop(0,
                      [](Branch inner, int i) -> Workflow<LoopStep<int>> {
                        co_await inner.run("step", [](int) { return fail_test(); }, i);
                        co_await inner.branch([](Branch arm) -> Workflow<void> {
                          co_await arm.sleep(1s);
                          co_await arm.run("inside", [] { return fail_test(); });
                        });
                        if (i == 4) {
                          co_await inner.signal("go");
                        }
                        co_return continue_with(i + 1);
                      },
                      {.checkpoint_every = 3});
  };
  const json::object answer = ask(inserted, recorded);
  EXPECT_EQ(answer.at("violation").at("location"), "{1, 4, 2, 1}");
  EXPECT_EQ(codes_of(first_advice(answer)), Codes({"ctx.v(2).sleep(…)"}));
  EXPECT_EQ(first_advice(answer).at("comparedAll"), true);
  const auto left_out = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    co_await ctx.loop(0,
                      [](Branch inner, int i) -> Workflow<LoopStep<int>> {
                        co_await inner.run("step", [](int) { return fail_test(); }, i);
                        co_await inner.branch([](Branch /*arm*/) -> Workflow<void> { co_return; });
                        if (i == 4) {
                          co_await inner.signal("go");
                        }
                        co_return continue_with(i + 1);
                      },
                      {.checkpoint_every = 3});
  };
  const json::object without = ask(left_out, recorded);
  EXPECT_EQ(without.at("violation").at("code"), "PAWL-1005");
  EXPECT_EQ(codes_of(first_advice(without)),
            Codes({"ctx.removed(pawl::StepKind::kOperation, \"inside\")"}));
  EXPECT_TRUE(contains(text_of(first_advice(without).at("text")), "at the end of what the branch"));
}

TEST(CheckAnswer, AStepFromANewerBuildNeedsItsVersion) {
  const auto newer = [](Ctx ctx, int number) -> Workflow<void> {
    co_await ctx.v(3).run("reserve", [](int i) { return i; }, number);
    co_await ctx.signal("go");
  };
  const auto older = [](Ctx ctx, int number) -> Workflow<void> {
    co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    co_await ctx.signal("go");
  };
  const json::object answer = ask(older, record(newer));
  EXPECT_EQ(answer.at("violation").at("code"), "PAWL-1003");
  EXPECT_EQ(codes_of(first_advice(answer)), Codes({"ctx.v(3).run(\"reserve\", …)"}));
}

TEST(CheckAnswer, OtherMatchings) {
  const auto build = [](Ctx ctx, int number) -> Workflow<void> {
    co_await ctx.run("audit", [](int) { return fail_test(); }, number);
    co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    co_await ctx.signal("go");
  };
  const Recorded recorded = record(first, {}, {.matching = Matching::kPerKind});
  const json::object per_kind = ask(build, recorded, {.matching = Matching::kPerKind});
  EXPECT_EQ(per_kind.at("verdict"), "violation");
  EXPECT_EQ(codes_of(first_advice(per_kind)),
            Codes({"ctx.run(\"audit\", …) with {.step_key = \"audit\"}"}));
  const json::object by_name = ask(build, recorded, {.matching = Matching::kByName});
  EXPECT_EQ(by_name.at("verdict"), "fits");
  EXPECT_EQ(by_name.at("orphaned"), json::array({"{1}", "{2}", "{3}"}));
  EXPECT_EQ(warnings_of(by_name), Codes({"orphaned"}));
}

TEST(CheckAnswer, WhatNoVersionHelpsHasTheReportsAdvice) {
  const auto keyed = [](Ctx ctx, int number) -> Workflow<void> {
    co_await ctx.run("reserve", {.step_key = "k"}, [](int i) { return i; }, number);
    co_await ctx.signal("go");
  };
  const auto build = [](Ctx ctx, int number) -> Workflow<void> {
    co_await ctx.run("hold", {.step_key = "k"}, [](int) { return fail_test(); }, number);
    co_await ctx.signal("go");
  };
  const json::object answer = ask(build, record(keyed));
  EXPECT_EQ(answer.at("verdict"), "violation");
  ASSERT_EQ(answer.at("advice").as_array().size(), 1);
  EXPECT_EQ(first_advice(answer).at("tried"), false);
  EXPECT_TRUE(contains(text_of(first_advice(answer).at("text")), "restore the recorded step"));
}

TEST(CheckAnswer, ChangedInputsAreTold) {
  const auto build = [](Ctx ctx, int number) -> Workflow<int> {
    const int a = co_await ctx.run("reserve", [](int) { return fail_test(); }, number + 1);
    const int b = co_await ctx.run("charge", [](int) { return fail_test(); }, a);
    co_await ctx.signal("go");
    co_return b;
  };
  const json::object answer = ask(build, record(first));
  EXPECT_EQ(answer.at("verdict"), "fits");
  EXPECT_EQ(warnings_of(answer), Codes({"input_changed"}));
  EXPECT_TRUE(
      contains(text_of(answer.at("warnings").at(0).at("text")), "{1} Operation(0) reserve:1"));
}

TEST(CheckAnswer, CodeThatCannotReadWhatIsRecordedFails) {
  const auto other_input = [](Ctx ctx, std::string text) -> Workflow<void> {
    co_await ctx.run("reserve", [](const std::string&) { return fail_test(); }, text);
  };
  const json::object input = ask(other_input, record(first));
  EXPECT_EQ(input.at("verdict"), "fails");
  EXPECT_TRUE(contains(text_of(input.at("why")), "input of workflow 'w'"));
  EXPECT_EQ(input.at("violation").at("code"), "PAWL-1005");
  EXPECT_EQ(codes_of(first_advice(input)), Codes());
  const auto other_result = [](Ctx ctx, int number) -> Workflow<void> {
    const std::string text =
        co_await ctx.run("reserve", [](int) { return std::to_string(fail_test()); }, number);
    co_await ctx.run("charge", [](const std::string&) { return fail_test(); }, text);
    co_await ctx.signal("go");
  };
  const json::object result = ask(other_result, record(first));
  EXPECT_EQ(result.at("verdict"), "fails");
  EXPECT_TRUE(contains(text_of(result.at("why")), "pawl::PayloadError"));
}

// The error ends a branch, and is not taken for steps that were left out.
TEST(CheckAnswer, CodeThatFailsInABranch) {
  const auto before = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    co_await ctx.branch([](Branch arm) -> Workflow<void> {
      co_await arm.run("one", [] { return 1; });
      co_await arm.signal("go");
    });
  };
  const auto after = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    co_await ctx.branch([](Branch arm) -> Workflow<void> {
      if (co_await arm.run("one", [] { return fail_test(); }) == 1) {
        throw std::runtime_error("one is too few");
      }
      co_await arm.signal("go");
    });
  };
  const json::object answer = ask(after, record(before));
  EXPECT_EQ(answer.at("verdict"), "violation");
  EXPECT_TRUE(contains(text_of(answer.at("why")), "std::runtime_error: one is too few"));
  EXPECT_EQ(codes_of(first_advice(answer)), Codes());
}

// A run of which nothing is recorded behind the point of failure.
TEST(CheckAnswer, CodeThatFailsAtTheEndOfWhatIsRecorded) {
  const auto before = [](Ctx /*ctx*/, int /*number*/) -> Workflow<void> { co_return; };
  Recorded recorded = record(before);
  recorded.run["status"] = "running";
  recorded.run["log"] = json::array();
  const auto after = [](Ctx /*ctx*/, std::string /*text*/) -> Workflow<void> { co_return; };
  const json::object answer = ask(after, recorded);
  EXPECT_EQ(answer.at("verdict"), "fails");
  EXPECT_EQ(answer.at("end").at("type"), "pawl::PayloadError");
}

TEST(CheckAnswer, CodeThatWouldEndIsTold) {
  const auto waits = [](Ctx ctx, int number) -> Workflow<int> {
    const int a = co_await ctx.run("reserve", [](int i) { return i; }, number);
    co_await ctx.signal("go");
    co_return a;
  };
  const auto throws = [](Ctx ctx, int number) -> Workflow<int> {
    co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    auto go = ctx.signal("go");
    throw std::runtime_error("no more of it");
    co_await go;
  };
  const json::object answer = ask(throws, record(waits));
  EXPECT_EQ(answer.at("verdict"), "fits");
  EXPECT_EQ(warnings_of(answer), Codes({"ends"}));
  EXPECT_TRUE(contains(text_of(answer.at("warnings").at(0).at("text")),
                       "failed: std::runtime_error: no more of it"));
}

TEST(CheckAnswer, RefusedDefinitionsAreTold) {
  Recorded recorded = record(first);
  recorded.run["definition"] = "f1";
  const WorkflowOptions options{.fingerprint = "f2", .on_change = OnChange::kRefuse};
  EXPECT_EQ(warnings_of(ask(same, recorded, options)), Codes({"refuses"}));
  recorded.run["approved"] = true;
  EXPECT_EQ(warnings_of(ask(same, recorded, options)), Codes());
  recorded.run["definition"] = "f2";
  recorded.run["approved"] = false;
  EXPECT_EQ(warnings_of(ask(same, recorded, options)), Codes());
}

TEST(CheckAnswer, ActivitiesThatTheProgramLacksAreTold) {
  const auto build = [](Ctx ctx, int number) -> Workflow<void> {
    Saga saga(ctx);
    co_await saga.add("undo", number);
    auto task = ctx.schedule<int>("elsewhere", number);
    co_await ctx.signal("go");
    co_await task;
  };
  const json::object answer = ask(build, record(build));
  EXPECT_EQ(answer.at("verdict"), "fits");
  EXPECT_EQ(warnings_of(answer), Codes({"no_activity", "no_activity"}));
  EXPECT_TRUE(contains(text_of(answer.at("warnings").at(0).at("text")), "'elsewhere'"));
  EXPECT_TRUE(contains(text_of(answer.at("warnings").at(1).at("text")), "'undo'"));
}

TEST(CheckAnswer, StatusesThatNeedNoCode) {
  Recorded recorded = record(first);
  const auto nothing_fits = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    co_await ctx.signal("something else");
  };
  for (const char* status : {"completed", "failed", "cancelled", "recurred"}) {
    recorded.run["status"] = status;
    const json::object answer = ask(nothing_fits, recorded);
    EXPECT_EQ(answer.at("verdict"), "not_checked");
    EXPECT_TRUE(contains(text_of(answer.at("why")), "it has ended"));
  }
  recorded.run["status"] = "compensating";
  recorded.run["compensations"] =
      json::array({json::object({{"name", "undo"}, {"state", "open"}}),
                   json::object({{"name", "done"}, {"state", "done"}})});
  const json::object saga = ask(nothing_fits, recorded);
  EXPECT_EQ(saga.at("verdict"), "fits");
  EXPECT_EQ(warnings_of(saga), Codes({"no_activity"}));
  EXPECT_TRUE(contains(text_of(saga.at("warnings").at(0).at("text")), "'undo'"));
  for (const char* status : {"running", "waiting", "blocked"}) {
    recorded.run["status"] = status;
    EXPECT_EQ(ask(nothing_fits, recorded).at("verdict"), "violation");
  }
}

TEST(CheckAnswer, AKindThatTheProgramLacks) {
  Recorded recorded = record(first);
  recorded.run["kind"] = "other";
  Registry registry;
  registry.workflow("w", first);
  const json::object answer = ask(registry, recorded.line());
  EXPECT_EQ(answer.at("verdict"), "no_workflow");
  EXPECT_EQ(answer.at("why"), "this program has no workflow 'other'");
}

TEST(CheckAnswer, WhatCannotBeRead) {
  Registry registry;
  registry.workflow("w", first);
  for (const char* line : {"", "{", "[]", "7", "\"run\"", "{\"id\": 7}", "{}"}) {
    EXPECT_EQ(ask(registry, line).at("verdict"), "unreadable") << line;
  }
  const Recorded recorded = record(first);
  const auto with = [&](const char* field, json::value value) {
    Recorded changed = recorded;
    changed.run[field] = std::move(value);
    const json::object answer = ask(registry, changed.line());
    EXPECT_EQ(answer.at("verdict"), "unreadable") << field;
    return text_of(answer.at("why"));
  };
  EXPECT_TRUE(contains(with("runId", "no uuid"), "runId"));
  EXPECT_TRUE(contains(with("status", "asleep"), "there is no status 'asleep'"));
  EXPECT_TRUE(contains(with("number", 0), "number"));
  EXPECT_TRUE(contains(with("log", "text"), "log"));
  EXPECT_TRUE(
      contains(with("log", json::array({json::object({{"event", "Nonsense"}})})), "log[0]"));
  json::array gap = recorded.run.at("log").as_array();
  gap.erase(gap.begin() + 1);
  EXPECT_TRUE(contains(with("log", gap), "seq"));
  Recorded without = recorded;
  without.run.erase("log");
  EXPECT_TRUE(contains(text_of(ask(registry, without.line()).at("why")), "log: missing"));
  // What it does not know it passes over.
  Recorded more = recorded;
  more.run["format"] = "pawl-run/1";
  more.run["inbox"] = json::array();
  EXPECT_EQ(ask(registry, more.line()).at("verdict"), "fits");
}

// Names that are no UTF-8 come in a form of their own, and answers are JSON all the same.
TEST(CheckAnswer, NamesThatAreNoText) {
  const auto before = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    co_await ctx.signal("go \xff");
  };
  const Recorded recorded = record(before);
  EXPECT_TRUE(contains(recorded.line(), "$bytes"));
  EXPECT_EQ(ask(before, recorded).at("verdict"), "fits");
  const auto after = [](Ctx ctx, int /*number*/) -> Workflow<void> {
    co_await ctx.signal("stop \xfe");
  };
  EXPECT_EQ(ask(after, recorded).at("verdict"), "violation");
}

class Reversed final : public PayloadCodec {
 public:
  std::string name() const override { return "reversed"; }
  std::string encode(std::string_view bytes) const override {
    return {bytes.rbegin(), bytes.rend()};
  }
  std::string decode(std::string_view bytes) const override { return encode(bytes); }
};

// Payloads are made plain by the engine's codecs; without them the run cannot be read.
TEST(CheckAnswer, PayloadCodecs) {
  const auto encoded = [](const json::value& plain) {
    const std::string text = json::serialize(plain);
    return format::payload_to_json("\x02reversed" + std::string(1, '\0') + Reversed().encode(text));
  };
  Recorded recorded = record(first);
  recorded.run["input"] = encoded(recorded.run["input"]);
  for (json::value& entry : recorded.run["log"].as_array()) {
    for (const char* field : {"input", "result"}) {
      if (json::value* payload = entry.as_object().if_contains(field)) {
        *payload = encoded(*payload);
      }
    }
  }
  Registry registry;
  registry.workflow("w", same);
  for (const EngineOptions& options :
       {EngineOptions{.payload_codec = std::make_shared<Reversed>()},
        EngineOptions{.old_codecs = {std::make_shared<Reversed>()}}}) {
    const json::object answer = ask(registry, recorded.line(), options);
    EXPECT_EQ(answer.at("verdict"), "fits");
    EXPECT_EQ(warnings_of(answer), Codes());  // Digests are of plain inputs.
  }
  const json::object without = ask(registry, recorded.line());
  EXPECT_EQ(without.at("verdict"), "unreadable");
  EXPECT_TRUE(contains(text_of(without.at("why")), "payload codec 'reversed'"));
}

// What was known before changes were tried is told before.
TEST(CheckAnswer, TheVerdictComesEarly) {
  Registry registry;
  registry.workflow("w",
                    [](Ctx ctx, int /*number*/) -> Workflow<void> { co_await ctx.signal("else"); });
  const detail::CheckAnswerer answerer(registry, {});
  std::vector<std::string> lines;
  lines.push_back(answerer.answer(record(first).line(),
                                  [&](const std::string& line) { lines.push_back(line); }));
  ASSERT_EQ(lines.size(), 2);
  const json::value early = json::parse(lines[0]);
  EXPECT_EQ(early.at("type"), "early");
  EXPECT_EQ(early.at("verdict"), "violation");
  EXPECT_EQ(early.at("advice").at(0).at("tried"), false);
}

// The frames of the code go, with all that is in them.
TEST(CheckAnswer, FramesAreDestroyed) {
  static int alive = 0;
  struct Counted {
    Counted() { ++alive; }
    ~Counted() { --alive; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
  };
  const auto build = [](Ctx ctx, int number) -> Workflow<void> {
    const Counted counted;
    co_await ctx.run("reserve", [](int) { return fail_test(); }, number);
    co_await ctx.join(
        [](Branch arm) -> Workflow<void> {
          const Counted inner;
          co_await arm.signal("x");
        },
        [](Branch arm) -> Workflow<void> {
          const Counted inner;
          co_await arm.sleep(1h);
        });
  };
  const auto before = [](Ctx ctx, int number) -> Workflow<void> {
    co_await ctx.run("reserve", [](int i) { return i; }, number);
    co_await ctx.signal("x");
  };
  EXPECT_EQ(ask(build, record(before)).at("verdict"), "violation");
  EXPECT_EQ(alive, 0);
}

// --- The call itself -----------------------------------------------------------------------------

class CheckVariable : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("PAWL_CHECK"); }
};

TEST_F(CheckVariable, WithoutItNothingHappens) {
  unsetenv("PAWL_CHECK");
  answer_check(Registry());
  setenv("PAWL_CHECK", "", 1);
  answer_check(Registry());
}

TEST_F(CheckVariable, OtherValuesAreRefused) {
  for (const char* value : {"1", "3", "3,", ",4", "3,4,5", "a,b", "-1,4", "3;4"}) {
    setenv("PAWL_CHECK", value, 1);
    EXPECT_THROW(answer_check(Registry()), UsageError) << value;
  }
}

TEST_F(CheckVariable, NoEngineIsMade) {
  setenv("PAWL_CHECK", "3,4", 1);
  try {
    const Engine engine("sqlite:/nowhere/at/all.db", Registry());
    FAIL() << "an engine was made";
  } catch (const UsageError& error) {
    EXPECT_TRUE(contains(error.what(), "pawl::answer_check(registry)"));
  }
  // A test kit is not concerned.
  Registry registry;
  registry.workflow("w", first);
  testing::Environment env(registry);
  env.start("w", "run-1", 1);
  env.run_until_idle();
  EXPECT_EQ(env.get("run-1").status(), Status::kWaiting);
}

}  // namespace
}  // namespace pawl
