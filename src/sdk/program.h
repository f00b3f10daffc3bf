// CoroutineProgram: a workflow coroutine as the engine's Program.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/program.h"
#include "pawl/registry.hpp"
#include "sdk/run.h"

namespace pawl::detail {

class CoroutineProgram final : public engine::Program {
 public:
  CoroutineProgram(engine::RunHost& host, Factory create, std::string_view input,
                   std::shared_ptr<const Settings> settings);
  ~CoroutineProgram() override;
  CoroutineProgram(const CoroutineProgram&) = delete;
  CoroutineProgram& operator=(const CoroutineProgram&) = delete;

  void start() override;
  void resume(const replay::AwaitStatus& over) override;
  std::optional<engine::ProgramEnd> end() override;
  std::size_t memory_bytes() const override;

 private:
  engine::ProgramEnd read_end();

  Factory create_;
  std::string input_;
  RunRef run_;
  std::unique_ptr<Root> root_;
  std::exception_ptr error_;  // What kept the root from being made.
  std::optional<engine::ProgramEnd> end_;
};

// The engine's view of a registry's entries. The settings are shared by all runs.
engine::Definition make_definition(const WorkflowEntry& entry,
                                   std::shared_ptr<const Settings> settings);
engine::ActivityType make_activity_type(const ActivityEntry& entry, const Settings& settings);

}  // namespace pawl::detail
