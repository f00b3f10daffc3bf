// Future<T>: the outcome of a command, to be awaited in workflow code; and all(), any(), shield().
// A cheap handle: copy it, await it as often as you like. Belongs to the run that made it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "pawl/codec.hpp"
#include "pawl/detail/run.hpp"
#include "pawl/event.hpp"
#include "pawl/workflow.hpp"

namespace pawl {

template <class T>
class Future;

namespace detail {

template <class T>
Stored<T> read_value(const RunRef& run, FutureId future) {
  const std::string_view payload = value_of(run, future);
  const auto where = [&] { return describe(run, future); };
  if constexpr (std::is_void_v<T>) {
    return {};
  } else if constexpr (IsWithEvent<T>::value) {
    return {decode<decltype(T::value)>(payload, where), event_of(run, future)};
  } else {
    return decode<T>(payload, where);
  }
}

template <class T>
class FutureAwaiter {
 public:
  FutureAwaiter(RunRef run, FutureId future, bool is_shielded)
      : await_(std::move(run), is_shielded), future_({future}) {}

  bool await_ready() { return await_.begin("co_await", false, future_); }
  void await_suspend(std::coroutine_handle<> waiting) { await_.suspend(waiting); }
  T await_resume() {
    await_.end();
    if constexpr (std::is_void_v<T>) {
      read_value<T>(await_.run(), future_[0]);
    } else {
      return read_value<T>(await_.run(), future_[0]);
    }
  }

 private:
  Await await_;
  std::array<FutureId, 1> future_;
};

// Several futures at once; `Reader` makes the result out of the future that decided.
template <bool ForAny, class Ids, class Reader>
class GroupAwaiter {
 public:
  GroupAwaiter(RunRef run, Ids futures, bool is_shielded, Reader reader)
      : await_(std::move(run), is_shielded),
        futures_(std::move(futures)),
        reader_(std::move(reader)) {}

  bool await_ready() {
    return await_.begin(ForAny ? "co_await any" : "co_await all", ForAny, futures_);
  }
  void await_suspend(std::coroutine_handle<> waiting) { await_.suspend(waiting); }
  auto await_resume() {
    const FutureId decided_by = await_.end();
    return reader_(await_.run(), futures_, decided_by);
  }

 private:
  Await await_;
  Ids futures_;
  Reader reader_;
};

}  // namespace detail

template <class T>
class [[nodiscard("pawl: a future that is not awaited: co_await it, or say (void)")]] Future {
 public:
  using Value = T;

  // Awaiting one that was made so throws UsageError.
  Future() = default;

  // The same outcome; awaiting it is not interrupted by a cancel request.
  Future shielded() const {
    Future copy = *this;
    copy.is_shielded_ = true;
    return copy;
  }

  // For the library.
  Future(detail::RunRef run, detail::FutureId id, bool is_shielded)
      : run_(std::move(run)), id_(id), is_shielded_(is_shielded) {}
  const detail::RunRef& run() const { return run_; }
  detail::FutureId id() const { return id_; }
  bool is_shielded() const { return is_shielded_; }
  auto durable_await(const detail::Place& /*place*/) const {
    return detail::FutureAwaiter<T>(run_, id_, is_shielded_);
  }

 private:
  detail::RunRef run_;
  detail::FutureId id_ = 0;
  bool is_shielded_ = false;
};

// A promise's future.
template <class T>
class [[nodiscard]] PromiseFuture : public Future<T> {
 public:
  PromiseFuture() = default;
  PromiseFuture(detail::RunRef run, detail::FutureId id, bool is_shielded, std::string name)
      : Future<T>(std::move(run), id, is_shielded), name_(std::move(name)) {}

  // Resolves it from anywhere: Engine::resolve_token(token, value). It is an address and not a
  // secret: run and promise as one text, which anybody can make who knows them. Who can open the
  // store can resolve the promise without it; who reaches you by other ways is yours to check.
  std::string token() const { return detail::promise_token(this->run(), name_); }

 private:
  std::string name_;
};

// The winner of any() over a vector.
template <class T>
struct Winner {
  std::size_t index = 0;
  T value;
};

namespace detail {

// What all() and any() return, to be awaited.
template <class... Ts>
class [[nodiscard("pawl: co_await it")]] All {
 public:
  explicit All(const Future<Ts>&... futures)
      : run_(std::get<0>(std::tie(futures...)).run()),
        ids_{futures.id()...},
        is_shielded_((futures.is_shielded() && ...)) {}

  All shielded() const {
    All copy = *this;
    copy.is_shielded_ = true;
    return copy;
  }
  auto durable_await(const Place& /*place*/) const {
    const auto read = [](const RunRef& run, const Ids& ids, FutureId failed) {
      if (failed != 0) {
        value_of(run, failed);
      }
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple<Stored<Ts>...>{read_value<Ts>(run, ids[I])...};
      }(std::index_sequence_for<Ts...>());
    };
    return GroupAwaiter<false, Ids, decltype(read)>(run_, ids_, is_shielded_, read);
  }

 private:
  using Ids = std::array<FutureId, sizeof...(Ts)>;
  RunRef run_;
  Ids ids_;
  bool is_shielded_;
};

template <class... Ts>
class [[nodiscard("pawl: co_await it")]] Any {
 public:
  explicit Any(const Future<Ts>&... futures)
      : run_(std::get<0>(std::tie(futures...)).run()),
        ids_{futures.id()...},
        is_shielded_((futures.is_shielded() && ...)) {}

  Any shielded() const {
    Any copy = *this;
    copy.is_shielded_ = true;
    return copy;
  }
  auto durable_await(const Place& /*place*/) const {
    const auto read = [](const RunRef& run, const Ids& ids, FutureId winner) {
      using Result = std::variant<Stored<Ts>...>;
      std::optional<Result> result;
      const auto try_at = [&]<std::size_t I>(std::integral_constant<std::size_t, I> /*index*/) {
        if (!result && ids[I] == winner) {
          using T = std::tuple_element_t<I, std::tuple<std::type_identity<Ts>...>>::type;
          result.emplace(std::in_place_index<I>, read_value<T>(run, winner));
        }
      };
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (try_at(std::integral_constant<std::size_t, I>()), ...);
      }(std::index_sequence_for<Ts...>());
      return std::move(*result);
    };
    return GroupAwaiter<true, Ids, decltype(read)>(run_, ids_, is_shielded_, read);
  }

 private:
  using Ids = std::array<FutureId, sizeof...(Ts)>;
  RunRef run_;
  Ids ids_;
  bool is_shielded_;
};

template <class T>
class Group {
 public:
  explicit Group(const std::vector<Future<T>>& futures) {
    ids_.reserve(futures.size());
    is_shielded_ = !futures.empty();
    for (const Future<T>& future : futures) {
      run_ = future.run();
      ids_.push_back(future.id());
      is_shielded_ = is_shielded_ && future.is_shielded();
    }
  }

 protected:
  const RunRef& run_at(const Place& place) const {
    return run_.get() != nullptr ? run_ : place.run;
  }

  RunRef run_;
  std::vector<FutureId> ids_;
  bool is_shielded_ = false;
};

template <class T>
class [[nodiscard("pawl: co_await it")]] AllOf : public Group<T> {
 public:
  using Group<T>::Group;

  AllOf shielded() const {
    AllOf copy = *this;
    copy.is_shielded_ = true;
    return copy;
  }
  auto durable_await(const Place& place) const {
    using Ids = std::vector<FutureId>;
    const auto read = [](const RunRef& run, const Ids& ids, FutureId failed) {
      if (failed != 0) {
        value_of(run, failed);
      }
      if constexpr (!std::is_void_v<T>) {
        std::vector<T> values;
        values.reserve(ids.size());
        for (const FutureId id : ids) {
          values.push_back(read_value<T>(run, id));
        }
        return values;
      }
    };
    return GroupAwaiter<false, Ids, decltype(read)>(this->run_at(place), this->ids_,
                                                    this->is_shielded_, read);
  }
};

template <class T>
class [[nodiscard("pawl: co_await it")]] AnyOf : public Group<T> {
 public:
  using Group<T>::Group;

  AnyOf shielded() const {
    AnyOf copy = *this;
    copy.is_shielded_ = true;
    return copy;
  }
  auto durable_await(const Place& place) const {
    using Ids = std::vector<FutureId>;
    const auto read = [](const RunRef& run, const Ids& ids, FutureId winner) {
      std::size_t index = 0;
      while (ids[index] != winner) {
        ++index;
      }
      return Winner<Stored<T>>{index, read_value<T>(run, winner)};
    };
    return GroupAwaiter<true, Ids, decltype(read)>(this->run_at(place), this->ids_,
                                                   this->is_shielded_, read);
  }
};

// The first of two to complete, whatever came of it: its id.
struct FirstOf {
  RunRef run;
  std::array<FutureId, 2> ids;
  bool is_shielded = false;

  auto durable_await(const Place& /*place*/) const {
    const auto read = [](const RunRef& /*run*/, const std::array<FutureId, 2>& /*ids*/,
                         FutureId winner) { return winner; };
    return GroupAwaiter<true, std::array<FutureId, 2>, decltype(read)>(run, ids, is_shielded, read);
  }
};

}  // namespace detail

// All results, as a tuple (std::monostate for void). The first failure to be delivered is thrown at
// once.
template <class... Ts>
  requires(sizeof...(Ts) > 0)
auto all(const Future<Ts>&... futures) {
  return detail::All<Ts...>(futures...);
}
// All results in order, as a vector; nothing for Future<void>.
template <class T>
auto all(const std::vector<Future<T>>& futures) {
  return detail::AllOf<T>(futures);
}

// The first one delivered, as a variant whose index says which (std::monostate for void). If that
// one failed, it throws.
template <class... Ts>
  requires(sizeof...(Ts) > 0)
auto any(const Future<Ts>&... futures) {
  return detail::Any<Ts...>(futures...);
}
// The same, as a Winner.
template <class T>
auto any(const std::vector<Future<T>>& futures) {
  return detail::AnyOf<T>(futures);
}

// The same; a cancel request does not interrupt awaiting it.
template <class T>
auto shield(const T& awaited) {
  return awaited.shielded();
}

}  // namespace pawl
