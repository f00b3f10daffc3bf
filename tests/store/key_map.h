// Keys of arrivals and tasks in the model, and those that a store has given to the same ones. They
// are bound to each other where both are seen for the first time, and have to stay so. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "store/model.h"
#include "store/store.h"

namespace pawl::store {

// Of one kind. What does not fit fails the test.
class KeyMap {
 public:
  // 0 is no key, and stays so.
  void bind(std::int64_t model, std::int64_t store);
  bool has_model(std::int64_t model) const { return to_store_.contains(model); }
  bool has_store(std::int64_t store) const { return to_model_.contains(store); }
  // One that is not bound is none that there could be.
  std::int64_t store_key(std::int64_t model) const;
  std::int64_t model_key(std::int64_t store) const;
  const std::map<std::int64_t, std::int64_t>& to_store() const { return to_store_; }

 private:
  std::map<std::int64_t, std::int64_t> to_store_;
  std::map<std::int64_t, std::int64_t> to_model_;
};

// Where arrivals stand in an inbox.
//
// kOfArrival: one that comes later stands behind.
//
// kOfHolders: so it is with all that others have put, and with all that one worker has put into a
// run that it held. But what a holder puts may stand before what others have put earlier: its keys
// were drawn long before, so that a turn needs no answer of the server. That is right because the
// holder does not read from the inbox what it put there itself, and because nobody sees an order
// between the two: what the holder does not know of has, for it, not come yet.
enum class InboxOrder : std::uint8_t { kOfArrival, kOfHolders };

class Keys {
 public:
  Keys(const Model& model, InboxOrder order) : model_(model), order_(order) {}

  // What the model is to do, in the keys of the store.
  Op for_store(Op op) const;
  // What the store has done, in the keys of the model.
  void from_store(Op& done, const Op& by_model);
  void from_store(std::vector<Arrival>& found, const std::vector<Arrival>& by_model);
  void from_store(std::vector<TaskRow>& found, const std::vector<TaskRow>& by_model);

  bool is_bound(const Model::Run& run) const;
  bool is_bound(const TaskRow& task) const { return tasks_.has_model(task.key); }
  // As the store has to give them.
  std::vector<StoredArrival> in_order(const Model::Run& run) const;
  TaskKey task_for_store(TaskKey model) const { return tasks_.store_key(model); }

 private:
  void from_store(ArrivalKey& found, ArrivalKey by_model);
  void from_store(std::optional<Claim>& found, const std::optional<Claim>& by_model);
  void from_store(std::vector<Claim>& found, const std::vector<Claim>& by_model);
  void check_order(const std::vector<Arrival>& found) const;

  const Model& model_;
  InboxOrder order_;
  KeyMap arrivals_;
  KeyMap tasks_;
};

}  // namespace pawl::store
