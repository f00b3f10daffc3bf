#include "conform/runner.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conform/evaluate.h"
#include "format/json_reader.h"

namespace pawl::conform {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::HasSubstr;
using testing::StartsWith;

// A directory of its own for each test.
class RunnerTest : public testing::Test {
 protected:
  RunnerTest() {
    std::string name = (fs::temp_directory_path() / "pawl_runner_test_XXXXXX").string();
    PAWL_CHECK(mkdtemp(name.data()) != nullptr);
    directory_ = name;
  }
  ~RunnerTest() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }

  fs::path write(const std::string& name, const std::string& content) {
    const fs::path path = directory_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  // What is printed.
  std::string run(const std::vector<fs::path>& paths, bool print = false) {
    std::ostringstream out;
    totals_ = run_files(paths, {.print = print}, out);
    return out.str();
  }

  // The one line for a scenario, which must have failed.
  std::string failure(const std::string& scenario) {
    const fs::path file = write("s.json", scenario);
    std::string line = run({file});
    EXPECT_EQ(totals_.passed, 0U) << scenario;
    EXPECT_EQ(totals_.failed, 1U) << scenario;
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    // So that expectations need not know where the file lies.
    const std::string place = file.string();
    for (std::size_t at = line.find(place); at != std::string::npos; at = line.find(place)) {
      line.replace(at, place.size(), "FILE");
    }
    return line;
  }

  // The failure of a scenario with this program and the given other members.
  std::string program_failure(const std::string& program, const std::string& others = "") {
    return failure(R"({"name": "n", "program": )" + program + others +
                   R"(, "expect": {"outcome": "completed"}})");
  }

  fs::path directory_;
  Totals totals_;
};

constexpr std::string_view kGood =
    R"({"name": "good", "program": [{"return": 1}], "expect": {"outcome": "completed", "result": 1}})";
constexpr std::string_view kBad =
    R"({"name": "bad", "program": [{"return": 1}], "expect": {"outcome": "completed", "result": 2}})";

// --- Files -------------------------------------------------------------------------------------

TEST_F(RunnerTest, OneLinePerScenario) {
  const fs::path one = write("one.json", std::string(kGood));
  const fs::path many =
      write("many.json", "[" + std::string(kGood) + "," + std::string(kBad) + "]");
  EXPECT_EQ(run({one, many}),
            "ok good\n"
            "ok good\n"
            "FAIL bad: result: expected 2, got 1\n");
  EXPECT_EQ(totals_.passed, 2U);
  EXPECT_EQ(totals_.failed, 1U);
}

TEST_F(RunnerTest, ADirectoryMeansAllJsonFilesBelowItInOrder) {
  write("b.json", R"({"name": "b", "program": [], "expect": {"outcome": "completed"}})");
  write("a/z.json", R"({"name": "z", "program": [], "expect": {"outcome": "completed"}})");
  write("a/deep/a.json", R"({"name": "a", "program": [], "expect": {"outcome": "completed"}})");
  write("notes.txt", "not a scenario");
  EXPECT_EQ(run({directory_}), "ok a\nok z\nok b\n");
}

TEST_F(RunnerTest, NothingToRunIsAFailure) {
  const std::string missing = (directory_ / "missing.json").string();
  EXPECT_EQ(run({missing}), "FAIL " + missing + ": there is no such file\n");
  EXPECT_EQ(totals_.failed, 1U);
  EXPECT_EQ(run({directory_}), "FAIL " + directory_.string() + ": holds no .json file\n");
  EXPECT_EQ(totals_.failed, 1U);
  const fs::path none = write("none.json", "[]");
  EXPECT_EQ(run({none}), "FAIL " + none.string() + ": holds no scenario\n");
  EXPECT_EQ(totals_.failed, 1U);
  run({});
  EXPECT_EQ(totals_.passed + totals_.failed, 0U);
}

TEST_F(RunnerTest, EmptyAndMalformedFilesSayWhere) {
  EXPECT_EQ(failure(""), "FAIL FILE: the file is empty\n");
  EXPECT_THAT(failure("\n\n"), StartsWith("FAIL FILE: malformed JSON at line "));
  EXPECT_THAT(failure("{\"name\": \"n\",\n \"program\": [}"),
              StartsWith("FAIL FILE: malformed JSON at line 2, column 14: "));
  EXPECT_THAT(failure("{\"name\": \"n\"} {}"),
              StartsWith("FAIL FILE: malformed JSON at line 1, column 15: "));
  EXPECT_THAT(failure(std::string(100'000, '[')),
              StartsWith("FAIL FILE: malformed JSON at line 1"));
  EXPECT_THAT(failure(std::string("\xff\xfe\0\0", 4)), StartsWith("FAIL FILE: malformed JSON"));
}

TEST_F(RunnerTest, WhatCannotBeReadIsAFailure) {
  EXPECT_THAT(run({"/dev/null"}), StartsWith("FAIL /dev/null: "));
  EXPECT_EQ(totals_.failed, 1U);
}

TEST_F(RunnerTest, OneBrokenScenarioDoesNotStopTheOthers) {
  const fs::path file = write("mixed.json", "[1," + std::string(kGood) + R"(,{"program": []},)" +
                                                std::string(kBad) + "," + std::string(kGood) + "]");
  const std::string out = run({file});
  EXPECT_THAT(out, HasSubstr("mixed.json[0]: scenario: expected an object, got 1\nok good\nFAIL "));
  EXPECT_THAT(out, HasSubstr("mixed.json[2]: name: missing\nFAIL bad: "));
  EXPECT_EQ(totals_.passed, 2U);
  EXPECT_EQ(totals_.failed, 3U);
}

TEST_F(RunnerTest, NamesNeverBreakTheLine) {
  EXPECT_EQ(
      failure(R"({"name": "two\nlines\r\u0007", "program": [], "expect": {"outcome": "failed"}})"),
      "FAIL two; lines: outcome: expected \"failed\", got \"completed\"\n");
}

// --- Scenarios that make no sense --------------------------------------------------------------

TEST_F(RunnerTest, BrokenScenariosNameFileScenarioAndField) {
  const struct {
    std::string_view scenario;
    std::string_view line;
  } cases[] = {
      {R"("text")", "FAIL FILE: scenario: expected an object, got the text \"text\"\n"},
      {R"({"program": [], "expect": {"outcome": "completed"}})", "FAIL FILE: name: missing\n"},
      {R"({"name": 5, "program": []})", "FAIL FILE: name: expected a text, got 5\n"},
      {R"({"name": "", "program": [], "expect": {"outcome": "completed"}})",
       "FAIL FILE: name: missing\n"},
      {R"({"name": "n", "expect": {"outcome": "completed"}})", "FAIL n: FILE: program: missing\n"},
      {R"({"name": "n", "program": []})",
       "FAIL n: FILE: expect: missing (--print shows the actual outcome)\n"},
      {R"({"name": "n", "program": {}})",
       "FAIL n: FILE: program: expected a list, got an object\n"},
      {R"({"name": "n", "program": [], "matching": "loose"})",
       "FAIL n: FILE: matching: expected strict, per_kind or by_name, got the text \"loose\"\n"},
      {R"({"name": "n", "program": [], "matching": 1})",
       "FAIL n: FILE: matching: expected a text, got 1\n"},
      {R"({"name": "n", "program": [], "histroy": []})",
       "FAIL n: FILE: histroy: there is no such field; is it 'history'?\n"},
      {R"({"name": "n", "program": [], "run": []})",
       "FAIL n: FILE: run: expected an object, got a list\n"},
      {R"({"name": "n", "program": [], "run": {"id": "order-17"}})",
       "FAIL n: FILE: run.id: expected a UUID, got the text \"order-17\"\n"},
      {R"({"name": "n", "program": [], "run": {"id": 17}})",
       "FAIL n: FILE: run.id: expected a text, got 17\n"},
      {R"({"name": "n", "program": [], "run": {"kind": 17}})",
       "FAIL n: FILE: run.kind: expected a text, got 17\n"},
      {R"({"name": "n", "program": [], "run": {"startedAt": "now"}})",
       "FAIL n: FILE: run.startedAt: expected a whole number from "},
      {R"({"name": "n", "program": [], "run": {"startdAt": 1}})",
       "FAIL n: FILE: run.startdAt: there is no such field; is it 'startedAt'?\n"},
      {R"({"name": "n", "program": [], "history": {}})",
       "FAIL n: FILE: history: expected a list, got an object\n"},
      {R"({"name": "n", "program": [], "expect": []})",
       "FAIL n: FILE: expect: expected an object, got a list\n"},
      {R"({"name": "n", "program": [], "expect": {}})", "FAIL n: FILE: expect.outcome: missing\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "done"}})",
       "FAIL n: FILE: expect.outcome: there is no outcome 'done'\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": 1}})",
       "FAIL n: FILE: expect.outcome: expected a text, got 1\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "completed", "results": 1}})",
       "FAIL n: FILE: expect.results: there is no such field\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "error": "e"}})",
       "FAIL n: FILE: expect.error: expected an object, got the text \"e\"\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "error": {"contains": "e"}}})",
       "FAIL n: FILE: expect.error.contains: expected a list, got the text \"e\"\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "error": {"contains": [1]}}})",
       "FAIL n: FILE: expect.error.contains[0]: expected a text, got 1\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "error": {"code": 1}}})",
       "FAIL n: FILE: expect.error.code: expected a text, got 1\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "error": {"location": 1}}})",
       "FAIL n: FILE: expect.error.location: expected a text, got 1\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "error": {"message": "e"}}})",
       "FAIL n: FILE: expect.error.message: there is no such field\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "new": {}}})",
       "FAIL n: FILE: expect.new: expected a list, got an object\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "new": [1]}})",
       "FAIL n: FILE: expect.new[0]: expected an object, got 1\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "values": []}})",
       "FAIL n: FILE: expect.values: expected an object, got a list\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "waiting": "{1}"}})",
       "FAIL n: FILE: expect.waiting: expected a list, got the text \"{1}\"\n"},
      {R"({"name": "n", "program": [], "expect": {"outcome": "failed", "orphaned": [1]}})",
       "FAIL n: FILE: expect.orphaned[0]: expected a text, got 1\n"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT(failure(std::string(bad.scenario)), StartsWith(std::string(bad.line)));
  }
}

TEST_F(RunnerTest, OtherFieldsOfAScenarioAndItsRunAreForPeople) {
  for (const std::string field : {"description", "comment", "note", "author", "seed", "tags"}) {
    EXPECT_EQ(run({write("p.json", R"({"name": "n", ")" + field + R"(": [1], "program": [],
                                       "run": {")" +
                                       field + R"(": 1},
                                       "expect": {"outcome": "completed"}})")}),
              "ok n\n")
        << field;
  }
}

TEST_F(RunnerTest, BrokenStepsNameTheirPlace) {
  const struct {
    std::string_view program;
    std::string_view message;
  } cases[] = {
      {R"([1])", "program[0]: expected an object, got 1"},
      {R"([{}])", "program[0]: a step needs a verb as its first key"},
      {R"([{"do": 1}])", "program[0]: there is no step 'do' (the first key of a step is its verb)"},
      {R"([{"as": "x", "task": "A"}])",
       "program[0]: there is no step 'as' (the first key of a step is its verb)"},
      {R"([{"input": 1, "task": "A"}])",
       "program[0]: there is no step 'input' (the first key of a step is its verb)"},
      {R"([{"task": "A"}, {"task": "A", "inputs": 1}])",
       "program[1].inputs: a step 'task' has no such field"},
      {R"([{"task": "A", "timer": 5}])", "program[0].timer: a step 'task' has no such field"},
      {R"([{"task": 1}])", "program[0].task: expected a text, got 1"},
      {R"([{"task": ""}])", "program[0].task: must not be empty"},
      {R"([{"task": "A", "as": 1}])", "program[0].as: expected a text, got 1"},
      {R"([{"task": "A", "stepKey": 1}])", "program[0].stepKey: expected a text, got 1"},
      {R"([{"run": 1}])", "program[0].run: expected a text, got 1"},
      {R"([{"run": "A", "throws": 1}])", "program[0].throws: expected a text, got 1"},
      {R"([{"run": "A", "returns": 1, "throws": "e"}])",
       "program[0].throws: a run either returns or throws"},
      {R"([{"timer": "5"}])", "program[0].timer: expected a whole number from 0"},
      {R"([{"timer": -5}])", "program[0].timer: expected a whole number from 0"},
      {R"([{"timer": 5.5}])", "program[0].timer: expected a whole number from 0"},
      {R"([{"timer": 5, "id": 1}])", "program[0].id: expected a text, got 1"},
      {R"([{"promise": 1}])", "program[0].promise: expected a text, got 1"},
      {R"([{"promise": "p", "timeout": "1"}])",
       "program[0].timeout: expected a whole number from 0"},
      {R"([{"child": "c"}])", "program[0].kind: missing"},
      {R"([{"child": "c", "kind": 1}])", "program[0].kind: expected a text, got 1"},
      {R"([{"signal": []}])", "program[0].signal: expected a text, got a list"},
      {R"([{"await": ["x"]}])", "program[0].await: expected a text, got a list"},
      {R"([{"await_all": "x"}])", "program[0].await_all: expected a list, got the text \"x\""},
      {R"([{"await_any": [1]}])", "program[0].await_any[0]: expected a text, got 1"},
      {R"([{"await_any": []}])", "program[0].await_any: must not be empty"},
      {R"([{"cancel": 1}])", "program[0].cancel: expected a text, got 1"},
      {R"([{"set": "k"}])", "program[0].value: missing"},
      {R"([{"clear": 1}])", "program[0].clear: expected a text, got 1"},
      {R"([{"get": 1, "as": "x"}])", "program[0].get: expected a text, got 1"},
      {R"([{"has_signal": 1}])", "program[0].has_signal: expected a text, got 1"},
      {R"([{"drain": 1}])", "program[0].drain: expected a text, got 1"},
      {R"([{"now": 1}])", "program[0].now: expected true, got 1"},
      {R"([{"uuid": false}])", "program[0].uuid: expected true, got false"},
      {R"([{"random": "x"}])", "program[0].random: expected true, got the text \"x\""},
      {R"([{"cancelled": null}])", "program[0].cancelled: expected true, got null"},
      {R"([{"branch": {}}])", "program[0].branch: expected a list, got an object"},
      {R"([{"branch": [{"branch": [{"task": 1}]}]}])",
       "program[0].branch[0].branch[0].task: expected a text, got 1"},
      {R"([{"join": [{}]}])", "program[0].join[0]: expected a list, got an object"},
      {R"([{"join": [[], [{"x": 1}]]}])", "program[0].join[1][0]: there is no step 'x'"},
      {R"([{"loop": []}])", "program[0].times: missing"},
      {R"([{"loop": [], "times": -1}])", "program[0].times: expected a whole number from 0"},
      {R"([{"loop": [], "times": 1, "checkpointEvery": 0}])",
       "program[0].checkpointEvery: expected a whole number from 1"},
      {R"([{"v": 0, "do": {"task": "A"}}])", "program[0].v: expected a whole number from 1"},
      {R"([{"v": 2}])", "program[0].do: missing"},
      {R"([{"v": 2, "do": []}])", "program[0].do: expected an object, got a list"},
      {R"([{"removed": "chore"}])", "program[0].removed: there is no kind of step 'chore'"},
      {R"([{"removed": "task", "name": 1}])", "program[0].name: expected a text, got 1"},
      {R"([{"check_version": 0}])", "program[0].check_version: expected a whole number from 1"},
      {R"([{"compensate": 1}])", "program[0].compensate: expected a text, got 1"},
      {R"([{"if": "x", "then": []}])", "program[0].equals: missing"},
      {R"([{"if": "x", "equals": 1}])", "program[0].then: missing"},
      {R"([{"if": "x", "equals": 1, "then": [], "else": 1}])",
       "program[0].else: expected a list, got 1"},
      {R"([{"try": []}])", "program[0].catch: missing"},
      {R"([{"shield": 1}])", "program[0].shield: expected a list, got 1"},
      {R"([{"throw": 1}])", "program[0].throw: expected a text, got 1"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT(program_failure(std::string(bad.program)),
                StartsWith("FAIL n: FILE: " + std::string(bad.message)));
  }
}

TEST_F(RunnerTest, AVariableThatWasNeverSetIsAMistake) {
  EXPECT_EQ(program_failure(R"([{"await": "x"}])"),
            "FAIL n: FILE: program[0].await: variable 'x' is not set\n");
  EXPECT_EQ(program_failure(R"([{"timer": 1, "as": "t"}, {"await_any": ["t", "x"]}])"),
            "FAIL n: FILE: program[1].await_any: variable 'x' is not set\n");
  EXPECT_EQ(program_failure(R"([{"cancel": "x"}])"),
            "FAIL n: FILE: program[0].cancel: variable 'x' is not set\n");
  EXPECT_EQ(program_failure(R"([{"if": "x", "equals": 1, "then": []}])"),
            "FAIL n: FILE: program[0].if: variable 'x' is not set\n");
  EXPECT_EQ(program_failure(R"([{"branch": [{"task": "A", "input": [{"a": {"$": "x"}}]}]}])"),
            "FAIL n: FILE: program[0].branch[0].input: variable 'x' is not set\n");
  EXPECT_EQ(program_failure(R"([{"set": "k", "value": {"$": "x"}}])"),
            "FAIL n: FILE: program[0].value: variable 'x' is not set\n");
  EXPECT_EQ(program_failure(R"([{"try": [{"return": {"$": "x"}}], "catch": []}])"),
            "FAIL n: FILE: program[0].try[0].return: variable 'x' is not set\n");
}

TEST_F(RunnerTest, AVariableOfTheWrongTypeSaysWhere) {
  EXPECT_EQ(program_failure(R"([{"loop": [], "times": {"$": "x"}}])"),
            "FAIL n: FILE: program[0].times: variable 'x' is not set\n");
  EXPECT_EQ(program_failure(R"([{"get": "k", "as": "x"}, {"loop": [], "times": {"$": "x"}}])"),
            "FAIL n: FILE: program[1].times: expected a whole number from 0, got null\n");
}

TEST_F(RunnerTest, AHistoryThatNoRunCanHaveWrittenSaysWhere) {
  EXPECT_THAT(program_failure("[]", R"(, "history": [{"event": "TaskScheduled", "taskType": 1}])"),
              StartsWith("FAIL n: FILE: history[0].taskType: expected a text, got 1"));
  EXPECT_THAT(program_failure("[]", R"(, "history": [{"event": "TaskScheduled"},
                                       {"event": "TaskScheduled", "location": "{1}"}])"),
              StartsWith("FAIL n: FILE: history[1]: entry 2 (TaskScheduled): location {1} is there "
                         "twice"));
  EXPECT_THAT(program_failure("[]", R"(, "history": [{"event": "TaskScheduled", "seq": 2}])"),
              StartsWith("FAIL n: FILE: history: entry 2 (TaskScheduled): seq 1 is missing"));
}

// --- Differences -------------------------------------------------------------------------------

TEST_F(RunnerTest, EveryDifferenceIsNamedInOneLine) {
  const std::string line = failure(R"({"name": "n",
    "program": [{"task": "A", "as": "x"}, {"await": "x"}],
    "expect": {"outcome": "completed", "result": 1, "error": {"contains": ["e"]},
               "new": [{"event": "TimerStarted", "location": "{2}"}, {}],
               "values": {"x": 1, "y": 2}, "waiting": [], "orphaned": ["{9}"]}})");
  EXPECT_EQ(line,
            "FAIL n: outcome: expected \"completed\", got \"suspended\"; "
            "result: expected 1, got nothing; "
            "error: expected one, got none; "
            "new[0].event: expected \"TimerStarted\", got \"TaskScheduled\"; "
            "new[0].location: expected \"{2}\", got \"{1}\"; "
            "new: expected 2 entries, got 1 (TaskScheduled {1}); "
            "values.x: expected 1, got null; "
            "values.y: expected 2, got nothing; "
            "waiting: expected [], got [\"{1}\"]; "
            "orphaned: expected [\"{9}\"], got []\n");
}

TEST_F(RunnerTest, AnErrorIsComparedByTextCodeAndPlace) {
  const std::string scenario = R"({"name": "n",
    "history": [{"event": "TaskScheduled", "taskType": "A"}],
    "program": [{"task": "B"}], "expect": {"outcome": "violation", "error": ERROR}})";
  const auto with = [&](const std::string& error) {
    std::string text = scenario;
    text.replace(text.find("ERROR"), 5, error);
    return text;
  };
  EXPECT_EQ(run({write("ok.json", with(R"({"contains": ["expected 'B', got 'A'", "PAWL-1002"],
                                           "code": "PAWL-1002", "location": "{ 1 }"})"))}),
            "ok n\n");
  EXPECT_THAT(failure(with(R"({"contains": ["no such text"]})")),
              StartsWith("FAIL n: error: \"no such text\" does not occur in "));
  EXPECT_EQ(failure(with(R"({"code": "PAWL-1001"})")),
            "FAIL n: error.code: expected \"PAWL-1001\", got \"PAWL-1002\"\n");
  EXPECT_EQ(failure(with(R"({"location": "{2}"})")),
            "FAIL n: error.location: expected \"{2}\", got \"{1}\"\n");
}

TEST_F(RunnerTest, AnUnexpectedErrorIsShown) {
  EXPECT_EQ(program_failure(R"([{"throw": "boom"}])"),
            "FAIL n: outcome: expected \"completed\", got \"failed\"; error: boom\n");
}

// --- Print -------------------------------------------------------------------------------------

TEST_F(RunnerTest, WhatIsPrintedCanBePastedBackAndPasses) {
  const std::vector<std::string> programs = {
      R"([{"return": {"a": [1, 2.5, null]}}])",
      R"([{"throw": "two\nlines"}])",
      R"([{"recur": 5}])",
      R"([{"task": "A", "as": "x", "input": {"b": 1}}, {"await": "x"}])",
      R"([{"task": "B"}])",
      R"([{"set": "k", "value": 1}, {"loop": [{"run": "r", "returns": {"$": "i"}}],
           "times": 5, "checkpointEvery": 2, "as": "n"}, {"now": true, "as": "t"}])",
      R"([{"join": [[{"timer": 5, "as": "t"}, {"await": "t"}], [{"signal": "s", "as": "s"},
           {"await": "s"}], [{"compensate": "c"}]]}])",
      R"([{"promise": "p", "timeout": 3, "as": "p"}, {"child": "c", "kind": "k", "as": "c"},
           {"await_any": ["p", "c"], "as": "w"}])",
  };
  for (const std::string& history :
       {std::string("[]"), std::string(R"([{"event": "TaskScheduled", "taskType": "A"}])"),
        std::string(R"([{"event": "CancellationRequested", "reason": "r"}])")}) {
    for (const std::string& program : programs) {
      const std::string scenario =
          R"({"name": "n", "history": )" + history + R"(, "program": )" + program;
      const std::string printed = run({write("p.json", scenario + "}")}, true);
      EXPECT_EQ(totals_.passed, 1U) << printed;
      ASSERT_THAT(printed, StartsWith("ok n\n{"));
      const std::string expect = printed.substr(printed.find('\n') + 1);
      EXPECT_EQ(std::count(expect.begin(), expect.end(), '\n'), 1) << expect;
      const std::string pasted = scenario + R"(, "expect": )" + expect + "}";
      EXPECT_EQ(run({write("q.json", pasted)}), "ok n\n") << pasted;
    }
  }
}

TEST_F(RunnerTest, PrintStillCompares) {
  const std::string out = run({write("bad.json", std::string(kBad))}, true);
  EXPECT_THAT(out, StartsWith("FAIL bad: result: expected 2, got 1\n{"));
  EXPECT_EQ(totals_.failed, 1U);
}

// --- Evaluate ----------------------------------------------------------------------------------

TEST(Evaluate, AScenarioThatMakesNoSenseIsInvalid) {
  const json::object actual =
      evaluate(format::parse_json(R"({"name": "n", "program": [{"x": 1}]})")->get_object());
  EXPECT_EQ(actual.at("outcome"), "invalid");
  EXPECT_THAT(std::string(actual.at("error").at("message").get_string()),
              StartsWith("program[0]: there is no step 'x'"));
}

// Somebody waits for it when its branch ends; the signal comes; somebody else awaits it again.
TEST(Evaluate, AWaitThatIsAwaitedAgainLetsAllGoOnThatWaitForIt) {
  const json::object actual = evaluate(format::parse_json(R"({"name": "n",
    "history": [
      {"event": "BranchOpened", "location": "{1}"}, {"event": "BranchOpened", "location": "{2}"},
      {"event": "BranchOpened", "location": "{3}"},
      {"event": "BranchOpened", "location": "{1, 1}"},
      {"event": "SignalAwaited", "signalName": "go", "location": "{1, 1, 1}"},
      {"event": "TimerStarted", "timerId": "one", "location": "{1, 1, 2}"},
      {"event": "TimerStarted", "timerId": "two", "location": "{3, 1}"},
      {"event": "TimerFired", "timerId": "one"},
      {"event": "SignalReceived", "signalName": "go", "data": 7},
      {"event": "TimerFired", "timerId": "two"}],
    "program": [
      {"join": [
        [{"branch": [{"signal": "go", "as": "w"}, {"timer": 1, "id": "one", "as": "a"},
                     {"await": "a"}]}],
        [{"await": "w"}],
        [{"timer": 2, "id": "two", "as": "b"}, {"await": "b"}, {"await": "w"}]]},
      {"return": {"$": "w"}}]})")
                                           ->get_object());
  EXPECT_EQ(actual.at("outcome"), "completed") << json::serialize(actual);
}

TEST(Evaluate, GivesTheActualOutcome) {
  const json::object actual =
      evaluate(format::parse_json(R"({"name": "n", "program": [{"return": 5}]})")->get_object());
  EXPECT_EQ(actual.at("outcome"), "completed");
  EXPECT_EQ(actual.at("result"), 5);
  EXPECT_EQ(actual.at("new").get_array().size(), 1U);
}

}  // namespace
}  // namespace pawl::conform
