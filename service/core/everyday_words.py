"""Everyday English: what questions are made of, and words that mean nearly the same (X4).

People say the one, and authors of tools write the other.
"""

from __future__ import annotations

_STOP_WORDS = """
    a an the this that these those some any each other own same such
    i me my mine we us our you your he him his she her it its they them their one
    am is are was were be been being do does did doing done have has had having
    can could will would shall should may might must
    what which who whom whose when where why how
    and or but if so than then as of at by for from in into on to with about between
    up out over under after above below during again once now
    not no nor please let want wants need needs like give tell go goes going come comes coming
    there here just also only too very more most few much many still yet
    s t m d re ve ll don doesn didn isn aren wasn weren haven hasn hadn won wouldn couldn shouldn
"""
# A sentence that begins so asks to know something.
_QUESTION_WORDS = "what which who whom whose where when why how is are was were do does did has have"
READING_WORDS = ("get", "list", "search", "show", "read", "current", "status", "report")

IRREGULAR = {
    form: base
    for base, forms in {
        "begin": "began begun",
        "break": "broke broken",
        "build": "built",
        "buy": "bought",
        "choose": "chose chosen",
        "drive": "drove driven",
        "eat": "ate eaten",
        "find": "found",
        "fly": "flew flown",
        "forget": "forgot forgotten",
        "get": "got gotten",
        "hear": "heard",
        "hold": "held",
        "keep": "kept",
        "lose": "lost",
        "make": "made",
        "meet": "met",
        "pay": "paid",
        "person": "people",
        "say": "said",
        "see": "saw seen",
        "sell": "sold",
        "send": "sent",
        "sleep": "slept",
        "speak": "spoke spoken",
        "spend": "spent",
        "take": "took taken",
        "think": "thought",
        "wake": "woke woken",
        "win": "won",
        "write": "wrote written",
    }.items()
    for form in forms.split()
}

# A word may stand in several groups. Base forms only: the reader folds endings.
_GROUPS = """
    begin start launch commence run; stop end halt quit abort cancel; make create new add build generate;
    change update edit modify alter adjust set; delete remove erase trash drop discard destroy;
    search find look locate lookup; read view see open display; write compose draft;
    send deliver dispatch transmit; receive incoming inbox; reply answer respond response; forward redirect;
    join merge combine unite; split divide separate; copy duplicate clone; move transfer shift;
    back return restore revert undo rollback; previous former earlier last past before; next following upcoming;
    skip next; finish complete close resolve solve; fix repair resolve; pick choose select;
    allow permit grant approve accept confirm; refuse reject decline deny; block forbid disable ban;
    hide mute silence; save store keep; share publish; ask request query; answer result;
    explain describe description; list all; count number quantity; compare difference versus;
    check verify validate test; calculate compute evaluate; convert transform; translate language;
    summary summarize brief; print printer; upload attach attachment; big large huge; small little tiny;
    enlarge bigger larger grow increase raise scale; reduce smaller shrink compress decrease lower;
    fast quick rapid speed; late delay delayed overdue; urgent important priority severe;
    free available vacant unused; busy occupied taken; broken failed failure error crash bug exception;
    problem issue trouble incident; down outage unavailable; latest newest recent current;
    old history historical; cheap price fare rate; day daily today tomorrow tonight yesterday;
    week weekly weekday; month monthly; year annual yearly; hour hourly; morning evening night noon;
    time clock hour; date time day today tomorrow tonight yesterday; schedule plan agenda calendar timetable;
    appointment meeting; meeting call conference; deadline due; remind reminder; notify alert warning;
    wake alarm; countdown timer; holiday vacation leave absence off; absent away absence;
    sick ill unwell sickness illness disease; boss manager supervisor;
    colleague coworker teammate employee staff worker; person people user member; hire recruit onboarding;
    applicant candidate; job position vacancy opening; salary wage payslip paycheck; overtime timesheet;
    training course lesson class; reimburse expense refund; receipt expense;
    company firm business organization corporate; department division team; customer client buyer; prospect lead;
    sale sell sold; deal opportunity; supplier vendor; guest visitor; friend contact acquaintance;
    phone telephone mobile; call dial phone ring; email mail; message text; spam junk; letter document paper;
    file document; folder directory; picture photo image photograph; movie film video cinema;
    song track music tune; singer artist band; speaker device; loud volume quiet; listen hear audio play;
    speak say speech voice talk; word text; spell spelling; mistake error; mean meaning definition define;
    dictionary encyclopedia; note memo; task todo chore; ticket issue case; comment remark note;
    vote poll survey; question survey; news headline story; website site page web; link url; internet web online;
    password credential login; account profile; log signin login; access permission right; secret key token;
    virus malware; vulnerability flaw hole; computer machine; server instance machine;
    program software application app; code source; repository repo; version release revision;
    deploy release rollout; deployment rollout; author owner; test build pipeline; database table; column field;
    row record entry; log output; backup copy; money amount payment cash fund; spend spending cost expense;
    cost price fee charge; pay payment paid; unpaid overdue outstanding open; owe debt overdue; bill invoice;
    discount coupon voucher; buy purchase order bought; bank account; tax vat; loan mortgage credit;
    share stock security; profit earnings income; revenue turnover; currency dollar euro pound yen;
    shop store market; goods article product item merchandise; stock inventory warehouse;
    parcel package shipment delivery; ship shipping post postage; grocery food;
    meal food lunch dinner breakfast eat; dish meal menu; recipe cook; restaurant eat food;
    doctor medical physician; medicine medication drug pill; sport exercise workout training; game match fixture;
    walk step foot; sleep night; weigh weight kilogram pound; mile kilometer distance length; far distance;
    degree temperature celsius fahrenheit; heat heating thermostat warm; hot heat temperature;
    cold temperature ice; rain precipitation shower umbrella; storm wind thunder; snow ski; sea ocean marine;
    sun sunny sunshine; weather forecast; trip travel journey; flight plane airplane fly; train rail railway;
    bus tram transit; car vehicle automobile drive; taxi cab ride; bicycle bike; hotel accommodation lodging;
    reserve book reservation booking; luggage baggage suitcase; passport visa; street road;
    way route direction path; jam traffic congestion; near nearby close around; place location spot;
    address location; country nation; city town; map route; home house apartment flat;
    room bedroom kitchen bathroom; light lamp bulb; dark dim brightness; door gate; curtain blind shutter;
    clean vacuum; laundry washing; electricity power energy; camera snapshot; birthday born;
    left remaining rest balance; space storage capacity; newsletter subscription mailing; subscribe follow;
    happy satisfied satisfaction; pass forward hand; sunrise dawn; sunset dusk; sun sunrise sunset;
    umbrella rain weather; morning afternoon hour; dentist doctor;
    pharmacy bakery museum supermarket restaurant place; slow performance duration;
    fridge oven dishwasher appliance; clip video; subtitle transcript transcribe; dictate speech transcribe;
    recording record tape; invite invitation attendee; participant attendee; sign signature;
    chat conversation thread; report submit; bug issue; laptop desktop computer; invest investment portfolio;
    pension retirement; insurance cover; contract agreement; law legal; rule policy; guide instruction manual;
    goal target objective; progress status state; owner responsible assignee; assign delegate; group team;
    crowd participant; plug outlet socket; petrol fuel gas; garage parking park; sight attraction;
    concert exhibition festival event; ticket fare; seat place; aisle window seat; departure leave;
    arrival arrive; border entry; danger safety safe; medal score result; league team club; film series;
    volume loud louder; bright dim brightness; hoover vacuum; plant garden; dirty clean; burglar alarm; key lock;
    tide harbor; wave swell; pollution smog air; hay pollen; calorie nutrient; heart pulse;
    hospital clinic medical; vaccine vaccination; diet vegetarian vegan; ingredient food;
    chart graph diagram plot; slide presentation deck powerpoint; spreadsheet sheet excel; cell range;
    average mean; total sum; percent percentage; random dice; logo icon; draw drawing paint generate;
    background backdrop; turn rotate flip; cut crop trim; face portrait; archive zip compress; scan recognize;
    handwriting handwritten; rank rating; review rating opinion; complaint dispute; warranty guarantee;
    wrong error mistake; hacked phishing malware; traffic load; cpu memory metric; graph dashboard;
    pod container; domain dns; certificate tls ssl; expire expiry; rollback undo; merge combine; commit change;
    reviewer approver; sprint iteration; epic story
"""

STOP_WORDS = frozenset(_STOP_WORDS.split())
QUESTION_WORDS = frozenset(_QUESTION_WORDS.split())
GROUPS = tuple(tuple(group.split()) for group in _GROUPS.split(";"))
