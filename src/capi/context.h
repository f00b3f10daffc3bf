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

struct Context {
  std::unique_ptr<replay::Machine> own;  // The caller's; else:
  // An engine's: while its code may go on.
  std::atomic<engine::CodeHost*> host = nullptr;
  engine::Job back;  // The same: to be called when that is over.
  // Has an operation executed: what pawl_context_execute() gives to the host.
  std::function<engine::RemoteBody(replay::FutureId)> body_for;
  std::size_t payload_bytes_max = replay::kPayloadBytesMax;

  // What was given out last.
  std::string text;
  replay::Log::EntryTexts entry_texts;
  std::string violation_text;

  engine::CodeHost* lent() const { return host.load(std::memory_order_acquire); }
  bool is_usable() const { return own != nullptr || lent() != nullptr; }
  replay::Machine& machine() const { return own != nullptr ? *own : lent()->machine(); }
};

using ContextHandles = ExclusiveHandles<Context, HandleKind::kContext, pawl_context>;
ContextHandles& contexts();

}  // namespace pawl::capi
