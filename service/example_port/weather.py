"""`get_weather`: canned weather, so that the demo needs no network and always gives the same answer."""

import unicodedata

from service.example_port.tools import Call, Tool, object_schema
from service.port_wire.answers import Answer, Failed, Result

WEATHER = {
    "Amsterdam": "14 degrees, light rain",
    "Athens": "27 degrees, clear",
    "Berlin": "16 degrees, cloudy",
    "Buenos Aires": "12 degrees, windy",
    "Cairo": "34 degrees, clear",
    "Cape Town": "15 degrees, showers",
    "Delhi": "36 degrees, hazy",
    "Lima": "19 degrees, foggy",
    "Lisbon": "23 degrees, sunny",
    "London": "15 degrees, drizzle",
    "Madrid": "29 degrees, sunny",
    "Mexico City": "21 degrees, thunderstorms",
    "Nairobi": "22 degrees, partly cloudy",
    "New York": "24 degrees, humid",
    "Oslo": "9 degrees, cloudy",
    "Paris": "18 degrees, sunny",
    "Reykjavik": "6 degrees, sleet",
    "Rome": "25 degrees, sunny",
    "São Paulo": "20 degrees, overcast",
    "Sydney": "17 degrees, clear",
    "Tokyo": "22 degrees, rain",
}


def _folded(city: str) -> str:
    """Drop case, accents, and what follows a comma: models write "paris" and "Paris, France" as well."""
    bare = unicodedata.normalize("NFKD", city.partition(",")[0])
    return "".join(letter for letter in bare if not unicodedata.combining(letter)).strip().casefold()


_BY_FOLDED_NAME = {_folded(city): weather for city, weather in WEATHER.items()}


async def _get_weather(call: Call) -> Answer:
    weather = _BY_FOLDED_NAME.get(_folded(call.text("city")))
    if weather is None:
        return Failed(message=f"no weather for {call.text('city')!r}; the cities are: {', '.join(WEATHER)}")
    return Result(content=weather)


def weather_tools() -> tuple[Tool, ...]:
    """Give the weather tool. It only reads, so sending a call twice is harmless: `idempotent`."""
    return (
        Tool(
            name="get_weather",
            title="Weather",
            description="Get the weather of a city",
            parameters=object_schema({"city": {"type": "string"}}),
            run=_get_weather,
            idempotent=True,
            timeout_ms=10_000,
        ),
    )
