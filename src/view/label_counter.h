// LabelCounter: the labels of commands that come in order of location within each branch, counted
// on the way. The same as replay::labels_of(), which counts anew for each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "replay/labels.h"

namespace pawl::view {

class LabelCounter {
 public:
  // Those of the next command, but for the location. A name is as it is stored: line_text() is for
  // who shows it.
  struct Counted {
    std::uint32_t of_kind = 0;
    std::uint32_t of_name = 0;  // 0: it has no name.
  };
  Counted count(replay::BranchId branch, replay::CommandKind kind, const std::string& name) {
    OfBranch& counts = branches_[branch];
    const auto number = static_cast<std::size_t>(kind);
    Counted counted;
    counted.of_kind = counts.of_kind[number]++;
    if (!name.empty()) {
      counted.of_name = ++counts.of_name[static_cast<char>(number) + name];
    }
    return counted;
  }
  // No command of this branch will come any more.
  void forget(replay::BranchId branch) { branches_.erase(branch); }

 private:
  struct OfBranch {
    std::array<std::uint32_t, replay::kCommandKinds> of_kind{};
    std::unordered_map<std::string, std::uint32_t> of_name;
  };
  std::unordered_map<replay::BranchId, OfBranch> branches_;
};

// The name that is counted; empty if there is none for people.
inline std::string counted_name(const replay::Log& log, const replay::Record& command) {
  return replay::is_cancel_request(command.kind) ? std::string() : shown_name(log, command);
}

}  // namespace pawl::view
