// Client: what a pawl::Engine and its handles share: the engine, its store and its environment.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "pawl/engine.hpp"
#include "sdk/run.h"

namespace pawl::detail {

// What a test kit does around the calls of a client.
class ClientHooks {
 public:
  virtual ~ClientHooks() = default;
  virtual void before_call(bool may_crash) = 0;
  // A wait has ended without an answer. True: there is another engine, make the call again.
  virtual bool recover() = 0;
  virtual void after_call() = 0;
  // For waits without a limit.
  virtual Millis longest_wait() const = 0;
};

class Client {
 public:
  // No call works before open().
  Client(std::shared_ptr<engine::Environment> environment, Registry registry, EngineOptions options,
         ClientHooks* hooks = nullptr)
      : environment_(std::move(environment)),
        registry_(std::move(registry)),
        options_(std::move(options)),
        hooks_(hooks) {}
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  struct OpenOptions {
    std::shared_ptr<const Settings> settings;
    bool replay_every_turn = false;
    std::function<void(const store::CommitTurn&)> on_commit;  // After each one.
    bool beats_when_idle = true;  // False: nothing happens by itself while no run does.
  };
  // Throws StoreError or UsageError.
  void open(std::shared_ptr<store::Store> store, OpenOptions options);
  void stop();
  // As if the process had died; then open() again. The environment has dropped its jobs before.
  void abandon();
  bool is_open() const { return engine_ != nullptr; }

  engine::Engine& engine() { return *engine_; }
  engine::Environment& environment() { return *environment_; }
  store::Store& store() { return *store_; }
  ClientHooks* hooks() { return hooks_; }
  // The kit goes; handles may stay.
  void detach_hooks() { hooks_ = nullptr; }
  Registry& registry() { return registry_; }
  const EngineOptions& options() const { return options_; }
  // Throws UsageError; `call` is for the message.
  const std::string& kind_of(std::string_view call, void (*function)()) const;
  bool has_kind(std::string_view kind) const;
  bool has_activity(std::string_view name) const;

 private:
  std::shared_ptr<engine::Environment> environment_;
  Registry registry_;
  EngineOptions options_;
  ClientHooks* hooks_;
  std::shared_ptr<store::Store> store_;
  std::unique_ptr<engine::Engine> engine_;
};

// By URL; "sqlite:FILE?…". Throws StoreError or UsageError.
std::shared_ptr<store::Store> open_store(std::string_view url, const EngineOptions& options);

// The newest run with this id. Throws NotFound or StoreError.
store::RunRow find_row(Client& client, const std::string& run);

[[noreturn]] void throw_client_error(std::string_view what, const Error& error);

}  // namespace pawl::detail
