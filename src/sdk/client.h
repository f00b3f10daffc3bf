// Client: what a pawl::Engine and its handles share: the engine, its store and its environment.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "pawl/engine.hpp"
#include "sdk/run.h"

namespace pawl::detail {

class Client {
 public:
  // Throws StoreError or UsageError.
  Client(std::shared_ptr<store::Store> store, std::shared_ptr<engine::Environment> environment,
         const Registry& registry, const EngineOptions& options,
         std::shared_ptr<const Settings> settings, bool replay_every_turn = false);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  engine::Engine& engine() { return *engine_; }
  engine::Environment& environment() { return *environment_; }
  store::Store& store() { return *store_; }
  // Throws UsageError.
  const std::string& kind_of(void (*function)()) const;
  void stop();

 private:
  std::shared_ptr<engine::Environment> environment_;
  std::shared_ptr<store::Store> store_;
  std::unique_ptr<engine::Engine> engine_;
  std::map<void (*)(), std::string> kinds_;
};

// By URL; "sqlite:FILE?…". Throws StoreError or UsageError.
std::shared_ptr<store::Store> open_store(std::string_view url, const EngineOptions& options);

[[noreturn]] void throw_client_error(std::string_view what, const Error& error);

}  // namespace pawl::detail
