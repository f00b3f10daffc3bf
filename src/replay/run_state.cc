#include "replay/run_state.h"

namespace pawl::replay {

void RunState::write(const Log& log, std::string_view key, std::optional<std::string_view> value,
                     BranchId branch) {
  auto found = values_.find(key);
  const BranchId nearest = log.branch(branch).loop;
  for (BranchId loop = nearest; loop != kNoBranch; loop = log.outer_loop(loop)) {
    std::map<std::string, Touch, std::less<>>& touched = touched_[loop];
    auto touch = touched.find(key);
    if (touch == touched.end()) {
      touch = touched.emplace(std::string(key), Touch{}).first;
    }
    if (found != values_.end() && found->second.text && !log.is_below(found->second.writer, loop)) {
      touch->second.hid_outer_value = true;
    }
  }
  if (!value && nearest == kNoBranch) {
    if (found != values_.end()) {
      values_.erase(found);
    }
    return;
  }
  if (found == values_.end()) {
    found = values_.emplace(std::string(key), Value{}).first;
  }
  found->second = Value{value, branch};
}

std::optional<std::string_view> RunState::get(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end() || !found->second.text) {
    return std::nullopt;
  }
  return found->second.text;
}

std::vector<StateChange> RunState::net_changes(const Log& log, BranchId loop) {
  std::vector<StateChange> changes;
  const auto all = touched_.find(loop);
  if (all == touched_.end()) {
    return changes;
  }
  const bool is_outermost = log.outer_loop(loop) == kNoBranch;
  for (auto touch = all->second.begin(); touch != all->second.end();) {
    const auto value = values_.find(touch->first);
    if (value == values_.end() || !log.is_below(value->second.writer, loop)) {
      ++touch;  // Somebody outside has written it since: nothing of the loop's is left.
      continue;
    }
    if (value->second.text || touch->second.hid_outer_value) {
      changes.push_back({touch->first, std::optional<std::string>(value->second.text)});
      ++touch;
      continue;
    }
    // Made and cleared inside: no trace is needed, and none may pile up.
    if (is_outermost) {
      values_.erase(value);
    }
    touch = all->second.erase(touch);
  }
  return changes;
}

void RunState::apply(const Log& log, BranchId loop, const std::vector<StateChange>& changes) {
  for (const StateChange& change : changes) {
    write(log, change.key,
          change.value ? std::optional<std::string_view>(*change.value) : std::nullopt, loop);
  }
}

}  // namespace pawl::replay
