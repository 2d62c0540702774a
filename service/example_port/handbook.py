"""The texts that `search_text` looks through: the handbook of a kite maker that does not exist."""

from dataclasses import dataclass

from service.port_wire.answers import DataClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Hold one page of the handbook."""

    title: str
    text: str
    data_class: DataClass = DataClass.PUBLIC


HANDBOOK = (
    Page(
        title="About us",
        text="Larkspur Kiteworks builds stunt kites and wind meters in an old boathouse. "
        "Eleven people work here, and a cat named Gust.",
    ),
    Page(
        title="Opening hours",
        text="The shop is open from Tuesday to Saturday, 10:00 to 18:00. "
        "On days with more than six Beaufort it closes early, because everybody is outside.",
    ),
    Page(
        title="Returns",
        text="A kite can be returned within 40 days, also with grass stains. "
        "Torn sails are mended once for free; a second repair costs 15 euros.",
    ),
    Page(
        title="Shipping",
        text="Parcels leave on Mondays and Thursdays. Kites longer than 160 centimetres travel by freight, "
        "which takes six working days.",
    ),
    Page(
        title="Wind table",
        text="The Sparrow flies from two Beaufort, the Heron from three, and the Gannet from four. "
        "None of our kites is to be flown above seven Beaufort or in a thunderstorm.",
    ),
    Page(
        title="Care of the lines",
        text="Rinse the lines with fresh water after a day at the sea and let them dry in the shade. "
        "Lines with a knot lose half of their strength.",
    ),
    Page(
        title="Holidays",
        text="Everybody has 31 days of holiday. The workshop rests in the last two weeks of January.",
        data_class=DataClass.INTERNAL,
    ),
    Page(
        title="Supplier prices",
        text="Ripstop nylon costs us 4.10 euros a metre and carbon rods 2.75 euros each until June.",
        data_class=DataClass.INTERNAL,
    ),
)
