// A trip and its parts: a workflow that starts others, waits for some of them, handles the failure
// of one, and says what becomes of those that are open when it ends.
//
//   children [STORE]      STORE is sqlite:trips.db if not given
#include <chrono>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include <pawl/pawl.hpp>

using namespace std::chrono_literals;

struct SoldOut : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// --- Activities ----------------------------------------------------------------------------------

void say(const std::string& what) { std::cout << what << std::endl; }

int book_seat(const std::string& /*place*/) { return 18'000; }

int book_room(const std::string& hotel) {
  if (hotel == "Ritz") {
    throw SoldOut("no room at the Ritz");
  }
  return 4000;
}

// --- Workflows: the parts ------------------------------------------------------------------------

// [parts]
pawl::Workflow<int> flight(pawl::Context ctx, std::string place) {
  co_return co_await ctx.run("book seat", book_seat, place);
}

pawl::Workflow<int> hotel(pawl::Context ctx, std::string name) {
  co_return co_await ctx.run("book room", book_room, name);
}
// [/parts]

// [watch]
// Would never end by itself. When the trip is booked it is asked to, and may clean up.
pawl::Workflow<void> watch_prices(pawl::Context ctx, std::string trip) {
  try {
    co_await ctx.send(trip, "watching");
    co_await ctx.signal("never sent");
  } catch (const pawl::Cancelled&) {
  }
  co_await ctx.run("unsubscribe", say, "prices: unsubscribed");
  throw pawl::Cancelled();
}
// [/watch]

// Is not asked.
pawl::Workflow<void> compare_offers(pawl::Context ctx) { co_await ctx.sleep(24h); }

// Outlives the trip.
pawl::Workflow<void> ask_how_it_was(pawl::Context ctx, std::string trip) {
  co_await ctx.signal("home");
  co_await ctx.run("mail", say, "survey: how was " + trip + "?");
}

// --- Workflows: the whole ------------------------------------------------------------------------

// [trip]
pawl::Workflow<int> trip(pawl::Context ctx, std::string place) {
  using enum pawl::ParentClose;
  const std::string id = ctx.info().id;
  (void)ctx.child("watch_prices", id + "/prices", id, {.parent_close = kCancel});
  (void)ctx.child("compare_offers", id + "/offers", {.parent_close = kTerminate});
  (void)ctx.child("ask_how_it_was", id + "/survey", id, {.parent_close = kAbandon});
  co_await ctx.signal("watching");  // A child can send signals, as anybody can.

  // Both at the same time.
  const auto seat = ctx.child<int>("flight", id + "/flight", place);
  const auto room = ctx.child<int>("hotel", id + "/hotel", "Ritz");

  int cents = co_await seat;
  std::optional<int> price;
  try {
    price = co_await room;
  } catch (const pawl::ChildFailed& failed) {
    if (failed.type() != "SoldOut") {
      throw;
    }
  }
  if (!price) {
    price = co_await ctx.child<int>("hotel", id + "/hostel", "Hostel");
  }
  co_return cents + *price;
}
// [/trip]

// --- The program ---------------------------------------------------------------------------------

// Waits for the end of a run.
std::string outcome(pawl::Engine& engine, const std::string& id) {
  try {
    engine.get(id).result();
    return "completed";
  } catch (const pawl::WorkflowFailed& failed) {
    return "failed: " + failed.type();
  } catch (const pawl::WorkflowCancelled&) {
    return "cancelled";
  }
}

void print(pawl::Engine& engine, const std::string& id) {
  const std::string text = outcome(engine, id);
  std::cout << id << " " << text << std::endl;
}

int main(int argc, char** argv) {
  try {
    pawl::Registry registry;
    registry.workflow("trip", trip)
        .workflow("flight", flight)
        .workflow("hotel", hotel)
        .workflow("watch_prices", watch_prices)
        .workflow("compare_offers", compare_offers)
        .workflow("ask_how_it_was", ask_how_it_was);
    pawl::Engine engine(argc > 1 ? argv[1] : "sqlite:trips.db", registry);
    const int cents = engine.start(trip, "lisbon", "Lisbon").result();
    for (const char* part : {"prices", "offers", "flight", "hotel", "hostel"}) {
      print(engine, std::string("lisbon/") + part);
    }
    std::cout << "lisbon is booked for " << cents << " cents" << std::endl;
    const auto survey = engine.get("lisbon/survey");
    if (survey.status() != pawl::Status::kCompleted) {
      survey.signal("home", std::monostate(), {.id = "home"});
    }
    print(engine, survey.id());
    return cents == 22'000 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "children: " << error.what() << '\n';
    return 1;
  }
}
