// Context: a machine as the ABI has it, either the caller's own, or that of a run which an engine
// has handed out.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "capi/handles.h"
#include "engine/code_host.h"
#include "engine/job.h"
#include "pawl.h"
#include "replay/machine.h"

namespace pawl::capi {

class Context {
 public:
  Context() = default;
  explicit Context(std::unique_ptr<replay::Machine> machine)
      : own_(std::move(machine)), machine_(own_.get()) {}

  // It is an engine's, and its code may go on; `back` is to be called when that is over.
  void lend(engine::CodeHost& host, engine::Job back) {
    host_ = &host;
    back_ = std::move(back);
    machine_.store(&host.machine(), std::memory_order_release);
  }
  // That is over.
  engine::Job take_back() {
    machine_.store(nullptr, std::memory_order_relaxed);
    return std::move(back_);
  }

  bool is_own() const { return own_ != nullptr; }
  // NULL: it is with its engine.
  replay::Machine* try_machine() const { return machine_.load(std::memory_order_acquire); }
  replay::Machine& machine() const { return *machine_.load(std::memory_order_relaxed); }
  // Of one that is lent.
  engine::CodeHost& host() const { return *host_; }

  // Has an operation executed: what pawl_context_execute() gives to the host.
  std::function<engine::RemoteBody(replay::FutureId)> body_for;
  std::size_t payload_bytes_max = replay::kPayloadBytesMax;

  // What was given out last.
  std::string text;
  replay::Log::EntryTexts entry_texts;
  std::string violation_text;

 private:
  std::unique_ptr<replay::Machine> own_;  // The caller's, if it is not an engine's.
  engine::CodeHost* host_ = nullptr;
  engine::Job back_;
  std::atomic<replay::Machine*> machine_ = nullptr;  // While calls may use it.
};

using ContextHandles = ExclusiveHandles<Context, HandleKind::kContext, pawl_context>;
ContextHandles& contexts();

}  // namespace pawl::capi
