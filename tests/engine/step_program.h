// StepProgram: a workflow without coroutines, for tests of the engine and for raw speed: a list of
// steps, each awaited before the next begins.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/program.h"

namespace pawl::engine {

// Opens something and says what to wait for; 0: nothing.
using Step = std::function<replay::FutureId(RunHost& host)>;

class StepProgram final : public Program {
 public:
  StepProgram(RunHost& host, std::vector<Step> steps) : host_(host), steps_(std::move(steps)) {}

  void start() override { go_on(); }
  void resume(const replay::AwaitStatus& over) override {
    PAWL_CHECK(over.await == await_);
    go_on();
  }
  std::optional<ProgramEnd> end() override {
    if (next_ < steps_.size() || waits_) {
      return std::nullopt;
    }
    return ProgramEnd{replay::EntryKind::kWorkflowCompleted, "\"done\""};
  }
  std::size_t memory_bytes() const override { return sizeof(*this); }

 private:
  void go_on() {
    waits_ = false;
    while (next_ < steps_.size()) {
      const replay::FutureId future = steps_[next_++](host_);
      if (future == 0) {
        continue;
      }
      const auto await = host_.machine().begin_await(replay::AwaitMode::kAll, {&future, 1}, false);
      if (!await) {
        waits_ = true;  // It disagrees with its history, or has ended.
        return;
      }
      if (await->state == replay::AwaitState::kBlocked) {
        await_ = await->await;
        waits_ = true;
        return;
      }
    }
  }

  RunHost& host_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  replay::AwaitId await_ = 0;
  bool waits_ = false;
};

// `version`: as in ctx.v(n); 0: that of the branch.
inline Step run_step(std::string name, ActivityBody body, RetryPolicy retry = {},
                     std::uint32_t version = 0) {
  return [name = std::move(name), body = std::move(body), retry = std::move(retry),
          version](RunHost& host) -> replay::FutureId {
    replay::CommandRequest request;
    request.kind = replay::CommandKind::kOperation;
    request.name = name;
    request.version = version;
    const auto opened = host.machine().open(request);
    if (!opened) {
      return 0;
    }
    if (opened->must_execute) {
      host.execute(opened->future, body, retry, 0);
    }
    return opened->future;
  };
}

inline Step plain_step(replay::CommandKind kind, std::string name, std::int64_t number = 0) {
  return [kind, name = std::move(name), number](RunHost& host) -> replay::FutureId {
    replay::CommandRequest request;
    request.kind = kind;
    request.name = name;
    request.number = number;
    const auto opened = host.machine().open(request);
    return opened ? opened->future : 0;
  };
}

// Puts a task on a queue.
inline Step task_step(std::string type, TaskOptions options) {
  return [type = std::move(type),
          extra = encode_task_options(options)](RunHost& host) -> replay::FutureId {
    replay::CommandRequest request;
    request.kind = replay::CommandKind::kTask;
    request.name = type;
    request.extra = extra;
    const auto opened = host.machine().open(request);
    return opened ? opened->future : 0;
  };
}

inline Definition step_workflow(std::string kind, std::vector<Step> steps) {
  Definition definition;
  definition.kind = std::move(kind);
  definition.create = [steps = std::move(steps)](RunHost& host, std::string_view /*input*/) {
    return std::make_unique<StepProgram>(host, steps);
  };
  return definition;
}

// Registers compensations, and fails.
class FailsAndUndoes final : public Program {
 public:
  FailsAndUndoes(RunHost& host, std::vector<std::string> names)
      : host_(host), names_(std::move(names)) {}
  void start() override {
    for (const std::string& name : names_) {
      replay::CommandRequest request;
      request.kind = replay::CommandKind::kCompensation;
      request.name = name;
      PAWL_CHECK(host_.machine().open(request).has_value());
    }
  }
  void resume(const replay::AwaitStatus& /*over*/) override {}
  std::optional<ProgramEnd> end() override {
    return ProgramEnd{replay::EntryKind::kWorkflowFailed, R"({"message":"no"})"};
  }
  std::size_t memory_bytes() const override { return sizeof(*this); }

 private:
  RunHost& host_;
  std::vector<std::string> names_;
};

inline Definition fails_and_undoes(std::vector<std::string> names) {
  Definition definition;
  definition.kind = "w";
  definition.create = [names = std::move(names)](RunHost& host, std::string_view /*input*/) {
    return std::make_unique<FailsAndUndoes>(host, names);
  };
  return definition;
}

}  // namespace pawl::engine
