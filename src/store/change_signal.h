// ChangeSignal: tells the stores on one database that another one has committed something.
// Carries no data; several notices may arrive as one. Thread-safe.
#pragma once

#include <functional>
#include <memory>

namespace pawl::store {

class ChangeSignal {
 public:
  virtual ~ChangeSignal() = default;

  // Tells all watchers on this database but this object's own.
  virtual void notify() = 0;
  // Calls `callback` for each notice from now on, instead of the one before. An empty function ends
  // it. When this returns, the old one is not running and will not be called again; it must not be
  // called from a callback.
  virtual void watch(std::function<void()> callback) = 0;
};

// Joins the stores of one process, for tests and simulations: no threads, no files; notify() calls
// the watchers directly, in the order in which they began to watch.
class LocalChangeHub {
 public:
  LocalChangeHub();
  // A signal for one store; may outlive the hub.
  std::unique_ptr<ChangeSignal> make_signal();

  class State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace pawl::store
