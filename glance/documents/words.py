"""Word lists that synthetic values are made from: names, things, qualities, actions, places."""

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
LONG_MONTHS = (
    "January February March April May June July August September October November December"
).split()
STREETS = (
    "Street Road Lane Avenue Way Close Court Hill Row Drive Place Square Terrace Gardens Quay "
    "Walk Park Mews Green Crescent"
).split()
FIRMS = (
    "Ltd Stores Market Foods Trading Supply Works Print Tools Garden Dental Motors Bakery Clinic "
    "Books Optics Travel Energy Studio Partners Group Textiles Logistics Hotel Press Pharmacy "
    "Records Flowers Cafe Bikes Sons GmbH Inc"
).split()
FIRST_NAMES = (
    "Adam Alice Amir Anna Ben Carla Chen Clara Daniel David Elena Emma Eric Fatima Felix Grace "
    "Hannah Henry Hugo Ines Ivan Jack James Jana Julia Kofi Laura Leo Lena Lucas Maria Mark "
    "Martha Mei Mia Mohamed Nadia Nina Noah Nora Oliver Omar Oscar Paul Peter Priya Rosa Ruth "
    "Samuel Sara Simon Sofia Thomas Tom Vera Victor Yuki Zoe"
).split()
SURNAMES = (
    "Adams Ahmed Baker Bauer Bell Berg Brown Carter Chen Clark Cohen Cooper Costa Diaz Dubois "
    "Evans Fischer Ford Garcia Gray Green Haas Hall Hansen Harris Hill Hughes Ito Jensen Jones "
    "Kaya Keller Khan Kim King Klein Kumar Lang Larsen Lee Lopez Martin Mason Meyer Miller Moore "
    "Moreau Morris Murphy Nguyen Novak Okafor Olsen Owen Parker Patel Perez Popov Price Reed "
    "Reyes Roberts Rossi Russo Sato Schmidt Scott Shah Silva Singh Smith Stone Tanaka Taylor "
    "Turner Walker Ward Weber White Wilson Wolf Wood Wright Young Yilmaz"
).split()
ADJECTIVES = (
    "red blue green white dark small large soft dry fresh sweet salted plain smoked fine thin "
    "thick warm cold mini grand spiced wild round flat brown raw crisp rich light black yellow "
    "grey pink silver golden wooden metal glass heavy quiet early late bright narrow broad clean "
    "simple modern old new open local annual weekly daily free public safe strong young steep "
    "hidden royal central northern southern double single folded frozen sharp gentle busy empty"
).split()
GOODS = (
    "apple bread butter cable candle carrot cereal cheese coffee cup envelope filter flour "
    "glue hammer honey jam juice lamp lemon marker milk mug nails napkin notebook oil olive "
    "onion paint paper pasta pen pepper plate potato rice rope salt screw soap soup spoon "
    "stapler sugar tape tea tomato towel vinegar water wire yogurt almond basket battery bean "
    "blanket bottle bowl box brush bucket cabbage cake card chair chain clock coat cord cotton "
    "cream curtain drill fan folder fork garlic ginger glove grape hat hook ink jar kettle key "
    "knife ladder lentil lock mango mat mirror mushroom needle nut orange oven pan peach pear "
    "pillow pin pipe plum pump radio rug salmon saw scarf shelf shirt shoe sock sofa sponge stamp "
    "stool string table thread tile tray tube vase wheel whistle zip"
).split()
PLACES = (
    "airport archive bridge canal castle chapel church city corner desk factory farm ferry field "
    "forest garden gate hall harbour hospital hotel island lake library market meadow mill "
    "mountain museum office park path platform port pool river road roof room school shop square "
    "stadium station street studio theatre tower tunnel valley village wall window workshop"
).split()
PEOPLE = (
    "actor artist baker barber builder captain child clerk cook dancer dentist doctor driver "
    "editor farmer guard guest judge keeper lawyer mayor member nurse owner painter pilot player "
    "poet porter reader sailor singer student tailor teacher trader visitor waiter worker writer"
).split()
ACTIONS = (
    "brings builds buys carries checks cleans closes collects counts covers cuts delivers draws "
    "fills finds follows hides holds keeps leaves likes loads loses makes mends moves needs "
    "offers opens orders packs paints passes picks places plants prints pulls pushes reads "
    "repairs returns rings sells sends shows signs sorts stores studies takes tests turns visits "
    "wants washes watches wins wraps"
).split()
WHERE = "above across behind below beside by from in inside near on outside past under with".split()
TOPICS = (
    "art budget cinema club course culture data dinner energy fair festival film football health "
    "history housing lecture meeting music night poetry population price race report safety sale "
    "season service show sport summer survey theatre tour trade traffic training travel walk "
    "water weather week winter work yoga"
).split()
