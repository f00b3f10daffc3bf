// Runs that are ended by somebody else of this process, while they are at work: whoever works for
// them is asked to stop, and whoever waits for them is told, at once.
#include <gtest/gtest.h>

#include "node.h"
#include "step_program.h"

namespace pawl::engine {
namespace {

using replay::CommandKind;

Step child_step(const std::string& id) {
  return [id](RunHost& host) -> replay::FutureId {
    ChildOptions options;
    options.parent_close = 2;  // Terminate.
    const std::string extra = encode_child_options(options);
    replay::CommandRequest request;
    request.kind = CommandKind::kChildWorkflow;
    request.name = id;
    request.child_kind = "child";
    request.extra = extra;
    PAWL_CHECK(host.machine().open(request).has_value());
    return 0;
  };
}

class Closed : public testing::TestWithParam<bool> {
 protected:
  // A parent that waits for a signal, and its child at work: in an operation, or by a task.
  // `in_the_middle` happens while the activity runs.
  void play(std::function<void(Node& node)> in_the_middle) {
    Node* here = nullptr;
    const ActivityBody body = [&](ActivityAttempt& attempt) {
      EXPECT_FALSE(attempt.should_stop());
      const auto told = here->wait("child");
      env_->run_ready();
      EXPECT_FALSE(*told);
      in_the_middle(*here);
      env_->run_ready();
      was_asked_to_stop_ = attempt.should_stop();
      was_told_ = *told;
      return ActivityOutcome{true, "1", {}};
    };
    const Step work = GetParam() ? plain_step(CommandKind::kTask, "t") : run_step("op", body);
    Node node(
        disk_, env_,
        {step_workflow("parent", {child_step("child"), plain_step(CommandKind::kSignal, "go")}),
         step_workflow("child", {work}), step_workflow("other", {})},
        {{"t", body, {}}});
    here = &node;
    node.start("parent", "parent");
    env_->run_ready();
    EXPECT_TRUE(was_asked_to_stop_);
  }

  Disk disk_;
  std::shared_ptr<SimEnvironment> env_ = sim();
  bool was_asked_to_stop_ = false;
  bool was_told_ = false;
};

INSTANTIATE_TEST_SUITE_P(Work, Closed, testing::Bool(), [](const auto& info) {
  return info.param ? std::string("ByTask") : std::string("ByOperation");
});

TEST_P(Closed, ByTermination) {
  play([](Node& node) { node.engine->terminate("child", "", [](const Result<void>&) {}); });
  EXPECT_TRUE(was_told_);
}

TEST_P(Closed, ByTheTerminationOfItsParent) {
  play([](Node& node) { node.engine->terminate("parent", "", [](const Result<void>&) {}); });
  EXPECT_TRUE(was_told_);
}

TEST_P(Closed, ByTheEndOfItsParent) {
  play([](Node& node) { node.signal("parent", "go"); });
  EXPECT_TRUE(was_told_);
}

// Who waits for the id waits for the new run.
TEST_P(Closed, ByAnotherRunInItsPlace) {
  play([](Node& node) {
    StartRequest request;
    request.kind = "other";
    request.id = "child";
    request.on_existing = store::OnExisting::kReplace;
    node.engine->start_run(request, [](const Result<StartedRun>&) {});
  });
  EXPECT_TRUE(was_told_);
}

TEST_P(Closed, ByAnotherRunInThePlaceOfItsParent) {
  play([](Node& node) {
    StartRequest request;
    request.kind = "other";
    request.id = "parent";
    request.on_existing = store::OnExisting::kReplace;
    node.engine->start_run(request, [](const Result<StartedRun>&) {});
  });
  EXPECT_TRUE(was_told_);
}

}  // namespace
}  // namespace pawl::engine
