#include "store/change_signal.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace pawl::store {

class LocalChangeHub::State {
 public:
  using Callback = std::shared_ptr<const std::function<void()>>;

  void add(Callback callback) {
    const std::scoped_lock lock(mutex_);
    callbacks_.push_back(std::move(callback));
  }

  void remove(const Callback& callback) {
    const std::scoped_lock lock(mutex_);
    std::erase(callbacks_, callback);
  }

  // The lock is not held during the calls: a callback may commit, and so notify, too.
  void call_all_but(const Callback& own) {
    std::vector<Callback> callbacks;
    {
      const std::scoped_lock lock(mutex_);
      callbacks = callbacks_;
    }
    for (const Callback& callback : callbacks) {
      if (callback != own) {
        (*callback)();
      }
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Callback> callbacks_;
};

namespace {

class LocalChangeSignal : public ChangeSignal {
 public:
  explicit LocalChangeSignal(std::shared_ptr<LocalChangeHub::State> state)
      : state_(std::move(state)) {}
  ~LocalChangeSignal() override { end(); }

  void notify() override { state_->call_all_but(callback_); }

  void watch(std::function<void()> callback) override {
    end();
    if (callback) {
      callback_ = std::make_shared<const std::function<void()>>(std::move(callback));
      state_->add(callback_);
    }
  }

 private:
  void end() {
    if (callback_) {
      state_->remove(callback_);
      callback_.reset();
    }
  }

  std::shared_ptr<LocalChangeHub::State> state_;
  LocalChangeHub::State::Callback callback_;
};

}  // namespace

LocalChangeHub::LocalChangeHub() : state_(std::make_shared<State>()) {}

std::unique_ptr<ChangeSignal> LocalChangeHub::make_signal() {
  return std::make_unique<LocalChangeSignal>(state_);
}

}  // namespace pawl::store
