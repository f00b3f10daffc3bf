// Edits: small changes to the code of a workflow that are tried before anybody writes them. Between
// the code and the machine stands a Rehearsed, which makes the code ask for what it would ask for
// with these changes in it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/machine.h"
#include "sdk/run.h"

namespace pawl::detail {

// A call in the code, as its line shows it.
struct CodeCall {
  std::string call;  // "run", "schedule" …: see Request::call.
  replay::CommandKind kind{};
  std::string name;
  std::string child_kind;
  std::string step_key;
  std::string source;  // "shop/order.cc:17"; empty: unknown, then `branch` and name say which.
  replay::BranchId branch = 0;
  std::uint32_t version = 0;  // As asked; 0: the branch's.
  bool is_removed = false;    // The call is removed().

  bool is_same_line(const CodeCall& other) const;
};

struct CodeEdit {
  enum class What : std::uint8_t {
    kAtVersion,      // ctx.v(version) before the call.
    kRemovedBefore,  // ctx.removed(step) before the call.
    kRemovedAtEnd,   // ctx.removed(step) where the code of a branch ends.
    kWithKey,        // The call gets a step key.
  };
  What what{};
  CodeCall at;  // kRemovedAtEnd: the call that opened the branch; none for the root.
  bool at_root = false;

  std::uint32_t version = 0;
  std::string step_key;
  // The recorded step that is not in the code any more.
  replay::CommandKind step{};
  std::string step_name;
  std::string removed_key;
  std::string step_location;

  bool is_same(const CodeEdit& other) const;
  // What to write, e.g. `ctx.v(2).run("audit", …)`.
  std::string code() const;
  // All of it, as one sentence without a dot.
  std::string text() const;
};

class Rehearsed final : public CodeProbe {
 public:
  explicit Rehearsed(std::vector<CodeEdit> edits) : edits_(std::move(edits)) {}

  Result<replay::Opened> open(replay::Machine& machine, const replay::CommandRequest& command,
                              const Request& request) override;
  Result<void> removed(replay::Machine& machine, const replay::CommandRequest& command,
                       const Request& request) override;
  void entered(replay::BranchId loop, replay::BranchId iteration) override;
  Result<void> before_end(replay::Machine& machine, replay::BranchId branch,
                          const engine::Failure* failure) override;
  Result<void> before_iteration_end(replay::Machine& machine, replay::BranchId loop) override;

  const std::vector<CodeEdit>& edits() const { return edits_; }
  // Of a step that has a future.
  Sample sample_of(replay::FutureId future) const;
  // The first call that disagreed with history.
  const std::optional<CodeCall>& refused() const { return refused_; }
  // The branch whose code has ended last, what has left it, if that was an error, and the call that
  // opened it.
  replay::BranchId ended_branch() const { return ended_; }
  const std::optional<engine::Failure>& ended_with() const { return ended_with_; }
  const CodeCall* opener_of(replay::BranchId branch) const;

 private:
  Result<void> remove(replay::Machine& machine, replay::BranchId branch, const CodeEdit& edit,
                      std::string_view source) const;
  void note_refusal(const Error& error, CodeCall call);

  std::vector<CodeEdit> edits_;
  std::map<replay::FutureId, Sample> samples_;
  std::map<replay::BranchId, CodeCall> openers_;             // Of branches, loops and iterations.
  std::map<replay::BranchId, replay::BranchId> iterations_;  // By loop: the one it is in.
  std::optional<CodeCall> refused_;
  replay::BranchId ended_ = replay::kNoBranch;
  std::optional<engine::Failure> ended_with_;
};

}  // namespace pawl::detail
