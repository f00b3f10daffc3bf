#include "store/key_map.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "store/support.h"

namespace pawl::store {

namespace {

constexpr std::int64_t kNone = std::int64_t{1} << 51;

// Payloads that the store makes up are not compared.
std::string describe_arrival(NewArrival arrival) {
  if (arrival.kind == number_of(replay::EntryKind::kChildWorkflowFailed)) {
    arrival.payload.clear();
    arrival.has_payload = false;
  }
  return describe(arrival);
}

}  // namespace

void KeyMap::bind(std::int64_t model, std::int64_t store) {
  if (model == 0 || store == 0) {
    return;
  }
  const auto [to, is_new] = to_store_.try_emplace(model, store);
  const auto [from, is_new_too] = to_model_.try_emplace(store, model);
  EXPECT_EQ(to->second, store) << "key " << model << " of the model";
  EXPECT_EQ(from->second, model) << "key " << store << " of the store";
}

std::int64_t KeyMap::store_key(std::int64_t model) const {
  const auto found = to_store_.find(model);
  return model == 0 ? 0 : found != to_store_.end() ? found->second : kNone + model;
}

std::int64_t KeyMap::model_key(std::int64_t store) const {
  const auto found = to_model_.find(store);
  return store == 0 ? 0 : found != to_model_.end() ? found->second : kNone + store;
}

Op Keys::for_store(Op op) const {
  if (auto* const turn = std::get_if<CommitTurn>(&op)) {
    for (std::vector<ArrivalKey>* const keys : {&turn->consumed, &turn->kept}) {
      for (ArrivalKey& key : *keys) {
        key = arrivals_.store_key(key);
      }
    }
  }
  if (auto* const change = std::get_if<ChangeTask>(&op)) {
    change->task = tasks_.has_model(change->task) ? tasks_.store_key(change->task) : change->task;
  }
  return op;
}

void Keys::from_store(ArrivalKey& found, ArrivalKey by_model) {
  if (!arrivals_.has_store(found) && !arrivals_.has_model(by_model)) {
    arrivals_.bind(by_model, found);
  }
  found = arrivals_.model_key(found);
}

// Those that are seen for the first time are told apart by what is in them; of two that are the
// same, which only others put, the first is the first.
void Keys::from_store(std::vector<Arrival>& found, const std::vector<Arrival>& by_model) {
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                             [](const Arrival& a, const Arrival& b) { return a.key < b.key; }));
  for (Arrival& arrival : found) {
    if (!arrivals_.has_store(arrival.key)) {
      const auto same = std::find_if(by_model.begin(), by_model.end(), [&](const Arrival& one) {
        return !arrivals_.has_model(one.key) && one.run == arrival.run &&
               describe_arrival(one) == describe_arrival(arrival);
      });
      if (same != by_model.end()) {
        arrivals_.bind(same->key, arrival.key);
      }
    }
    arrival.key = arrivals_.model_key(arrival.key);
  }
  if (order_ == InboxOrder::kOfHolders) {
    check_order(found);
    std::sort(found.begin(), found.end(),
              [](const Arrival& a, const Arrival& b) { return a.key < b.key; });
  }
}

// The model counts in the order in which they come.
void Keys::check_order(const std::vector<Arrival>& found) const {
  std::map<std::pair<WorkerKey, int>, ArrivalKey> last;
  for (const Arrival& arrival : found) {
    const auto own = model_.own_arrivals.find(arrival.key);
    const bool is_own = own != model_.own_arrivals.end();
    ArrivalKey& before = last[is_own ? own->second : std::pair<WorkerKey, int>(0, 0)];
    EXPECT_LT(before, arrival.key)
        << "an arrival of run " << arrival.run << (is_own ? " that its holder has put" : "")
        << " is out of place: " << describe(arrival);
    before = arrival.key;
  }
}

void Keys::from_store(std::vector<TaskRow>& found, const std::vector<TaskRow>& by_model) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i < by_model.size() && !tasks_.has_store(found[i].key) &&
        !tasks_.has_model(by_model[i].key)) {
      tasks_.bind(by_model[i].key, found[i].key);
      // The older one has the smaller key.
      const auto place = tasks_.to_store().find(by_model[i].key);
      if (place != tasks_.to_store().begin()) {
        EXPECT_LT(std::prev(place)->second, place->second);
      }
      if (std::next(place) != tasks_.to_store().end()) {
        EXPECT_LT(place->second, std::next(place)->second);
      }
    }
    found[i].key = tasks_.model_key(found[i].key);
  }
}

void Keys::from_store(std::optional<Claim>& found, const std::optional<Claim>& by_model) {
  if (found.has_value() && by_model.has_value()) {
    from_store(found->inbox, by_model->inbox);
  }
}

void Keys::from_store(std::vector<Claim>& found, const std::vector<Claim>& by_model) {
  for (std::size_t i = 0; i < std::min(found.size(), by_model.size()); ++i) {
    from_store(found[i].inbox, by_model[i].inbox);
  }
}

void Keys::from_store(Op& done, const Op& by_model) {
  if (auto* const start = std::get_if<StartRun>(&done)) {
    from_store(start->arrival, std::get<StartRun>(by_model).arrival);
  } else if (auto* const claim = std::get_if<Claim>(&done)) {
    from_store(claim->inbox, std::get<Claim>(by_model).inbox);
  } else if (auto* const due = std::get_if<ClaimDue>(&done)) {
    from_store(due->claims, std::get<ClaimDue>(by_model).claims);
  } else if (auto* const stuck = std::get_if<ClaimStuck>(&done)) {
    from_store(stuck->claims, std::get<ClaimStuck>(by_model).claims);
  } else if (auto* const send = std::get_if<Send>(&done)) {
    from_store(send->key, std::get<Send>(by_model).key);
    from_store(send->claim, std::get<Send>(by_model).claim);
  } else if (auto* const change = std::get_if<ChangeTask>(&done)) {
    from_store(change->key, std::get<ChangeTask>(by_model).key);
    from_store(change->claim, std::get<ChangeTask>(by_model).claim);
  } else if (auto* const take = std::get_if<TakeTasks>(&done)) {
    from_store(take->taken, std::get<TakeTasks>(by_model).taken);
  } else if (auto* const turn = std::get_if<CommitTurn>(&done)) {
    const auto& want = std::get<CommitTurn>(by_model);
    for (std::size_t i = 0; i < std::min(turn->arrival_keys.size(), want.arrival_keys.size());
         ++i) {
      from_store(turn->arrival_keys[i], want.arrival_keys[i]);
    }
    for (std::size_t i = 0; i < std::min(turn->bounced.size(), want.bounced.size()); ++i) {
      from_store(turn->bounced[i].key, want.bounced[i].key);
    }
  }
}

bool Keys::is_bound(const Model::Run& run) const {
  return std::all_of(run.inbox.begin(), run.inbox.end(),
                     [&](const auto& one) { return arrivals_.has_model(one.first.key); });
}

std::vector<StoredArrival> Keys::in_order(const Model::Run& run) const {
  std::map<ArrivalKey, StoredArrival> ordered;
  for (const auto& [arrival, kept] : run.inbox) {
    ordered[arrivals_.store_key(arrival.key)] = {arrival, kept};
  }
  std::vector<StoredArrival> arrivals;
  for (auto& [key, arrival] : ordered) {
    arrivals.push_back(std::move(arrival));
  }
  return arrivals;
}

}  // namespace pawl::store
