"""Endless small stories, made from a grammar: the text the demo model learns from.

Each story has people, a place, a trouble and its end; names, pronouns and things stay the same from the
first sentence to the last, so that a model has something to keep in mind. Everything here was written for
this project.

    python examples/stories.py 3        # prints three stories
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass

PEOPLE = {
    "she": "Mia Ella Nora Ruth Ada Lena Iris Wanda Clara Zoe Hana Olga Tess Vera Joan Mabel".split(),
    "he": "Tom Ben Max Otto Karl Finn Leo Hugo Sam Ivan Theo Amos Paul Nils Omar Jack".split(),
}
PRONOUNS = {"she": ("she", "her", "her"), "he": ("he", "him", "his")}
KINDS = (
    "girl boy farmer baker sailor fox bear rabbit mouse owl hedgehog duck cat dog goat painter miller shepherd "
    "clockmaker fisher gardener beaver crow badger squirrel teacher tailor"
).split()
GENDERED = {"girl": "she", "boy": "he"}
TRAITS = "small quiet brave clever kind shy curious patient old young cheerful careful stubborn sleepy gentle proud".split()
PLACES = (
    "in a village by the sea|at the edge of a dark forest|on a hill above the river|in a house with a green door|"
    "near the old mill|in a town full of bridges|on an island with one tall tree|beside a lake that froze every winter|"
    "in a valley of apple trees|under the roots of a great oak|in a tower with a broken clock|by a road that nobody used"
).split("|")
WEATHER = (
    "The morning was cold and clear.|Rain had fallen all night.|The sun was warm, and the wind smelled of grass.|"
    "Snow lay on every roof.|A thick fog covered the fields.|It was the first day of spring.|The leaves were turning red.|"
    "The night was full of stars.|Grey clouds hung over the hills.|It was so hot that even the birds were quiet."
).split("|")
THINGS = (
    "lantern|kite|silver key|wooden boat|blue scarf|map|little bell|music box|red ball|story book|drum|pair of boots|basket|"
    "clock|teapot|flute|compass|paper crown|warm coat|jar of honey|golden button|wheelbarrow|spyglass|violin"
).split("|")
FOODS = "soup bread pancakes apples cheese porridge plums carrots honey cake berries stew pears nuts".split()
FEELINGS = "happy tired proud surprised glad hungry calm worried curious".split()
HIDING = (
    "under the bridge|behind the barn|inside a hollow log|on the roof of the bakery|in the bottom of the well|among the reeds|"
    "in the pocket of an old coat|beneath the stairs|at the top of the ladder|in a nest|between two grey stones"
).split("|")


@dataclass(frozen=True)
class Person:
    name: str
    gender: str
    kind: str
    trait: str

    @property
    def he(self) -> str:
        return PRONOUNS[self.gender][0]

    @property
    def him(self) -> str:
        return PRONOUNS[self.gender][1]

    @property
    def his(self) -> str:
        return PRONOUNS[self.gender][2]


@dataclass(frozen=True)
class World:
    """All that one story is about."""

    a: Person
    b: Person
    place: str
    weather: str
    thing: str
    other: str
    food: str
    feeling: str
    hiding: str
    random: random.Random

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)


def article(words: str) -> str:
    if words.startswith("pair of"):
        return f"a {words}"
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def make_world(source: random.Random) -> World:
    kinds = source.sample(KINDS, 2)
    people = []
    names: set[str] = set()
    for kind in kinds:
        gender = GENDERED.get(kind) or source.choice(list(PEOPLE))
        name = source.choice([n for n in PEOPLE[gender] if n not in names])
        names.add(name)
        people.append(Person(name, gender, kind, source.choice(TRAITS)))
    thing, other = source.sample(THINGS, 2)
    return World(
        *people,
        source.choice(PLACES),
        source.choice(WEATHER),
        thing,
        other,
        source.choice(FOODS),
        source.choice(FEELINGS),
        source.choice(HIDING),
        source,
    )


def opening(w: World) -> str:
    a = w.a
    who = article(f"{a.trait} {a.kind}")
    return w.pick(
        f"Once there was {who} named {a.name} who lived {w.place}.",
        f"{a.name} was {who}, and {a.he} lived {w.place}.",
        f"Long ago, {who} called {a.name} lived {w.place}.",
        f"There was once {who}. {capital(a.his)} name was {a.name}, and {a.his} home was {w.place}.",
        f"{capital(w.place)} lived {who} named {a.name}.",
    )


def habit(w: World) -> str:
    a = w.a
    return w.pick(
        f"Every day {a.he} ate {w.food} and listened to the wind.",
        f"{capital(a.he)} owned only one thing of value, {article(w.thing)}.",
        f"{a.name} liked {w.food} more than anything else.",
        f"Each evening {a.he} sat by the window and counted the stars.",
        f"Everybody knew {a.him}, because {a.he} was never in a hurry.",
        f"{a.name} had always wanted to see the other side of the mountain.",
        f"{capital(a.he)} could whistle every song {a.he} had ever heard.",
    )


def lost(w: World) -> list[str]:
    a, b = w.a, w.b
    return [
        w.pick(
            f"One day {a.name} could not find {a.his} {w.thing}.",
            f"One morning the {w.thing} was gone.",
            f"Then, on a Sunday, {a.name} lost {a.his} {w.thing}.",
        ),
        w.pick(
            f"{capital(a.he)} looked in every room, but it was not there.",
            f"{capital(a.he)} searched the whole house and found only dust.",
            f'"It was here yesterday," {a.he} said, and {a.he} felt close to tears.',
        ),
        w.pick(
            f"{b.name}, {article(b.trait)} {b.kind}, came by and asked what was wrong.",
            f"{capital(a.his)} neighbour {b.name}, {article(b.trait)} {b.kind}, heard {a.him} and came to help.",
        ),
        w.pick(
            f'"Where did you see it last?" asked {b.name}.',
            f'"Let us look together," said {b.name}. "Four eyes see more than two."',
            f'{b.name} thought for a while. "Things are often where nobody looks," {b.he} said.',
        ),
        w.pick(
            f"They looked {w.hiding}, and there it was.",
            f"At last they found it {w.hiding}.",
            f"They walked until noon, and then {b.name} saw something shine {w.hiding}. It was the {w.thing}!",
        ),
        w.pick(
            f"{a.name} thanked {b.name} and shared {a.his} {w.food} with {b.him}.",
            f"{a.name} was so {w.pick('happy', 'glad')} that {a.he} danced around {b.name} three times.",
        ),
    ]


def build(w: World) -> list[str]:
    a, b = w.a, w.b
    made = w.pick(
        "a bridge", "a boat", "a small house", "a windmill", "a swing", "a long fence", "a wooden tower"
    )
    return [
        w.pick(
            f"One day {a.name} decided to build {made}.", f'"I will build {made}," said {a.name} one morning.'
        ),
        w.pick(
            f"{capital(a.he)} carried wood and stones until {a.his} arms hurt.",
            f"{capital(a.he)} worked from sunrise to sunset.",
            f"{capital(a.he)} measured twice and cut once.",
        ),
        w.pick(
            "But in the night a storm came and broke everything.",
            "But the first try fell down with a loud crash.",
            "But when it was almost done, one side began to sink.",
        ),
        w.pick(
            f'{b.name}, {article(b.trait)} {b.kind}, watched from the road. "May I help?" {b.he} asked.',
            f"{a.name} sat down and sighed. Then {b.name} the {b.kind} came along with {article(w.other)} in {b.his} hands.",
        ),
        w.pick(
            f"{b.name} showed {a.him} how to tie a strong knot.",
            f"{b.name} held one end, and {a.name} held the other.",
            f"{b.name} knew that wet wood is weak, so they waited for the sun.",
        ),
        w.pick(
            f"Together they built {made} that stood for many years.",
            f"When it was done, {made} stood there, straight and strong.",
        ),
        w.pick(
            "Two people can do what one cannot.",
            f'"It is better than the first one," said {a.name}, and {b.name} agreed.',
            f"They painted it {w.pick('red', 'blue', 'yellow', 'green')} and went home {w.feeling}.",
        ),
    ]


def journey(w: World) -> list[str]:
    a, b = w.a, w.b
    goal = w.pick(
        "the mountain", "the sea", "the great city", "the end of the river", "the lighthouse", "the market"
    )
    return [
        w.pick(
            f"One day {a.name} packed {article(w.thing)} and some {w.food} and set out for {goal}.",
            f"{a.name} wanted to see {goal}, so {a.he} put on {a.his} coat and began to walk.",
        ),
        w.pick(
            "The road was long and full of holes.",
            f"{capital(a.he)} walked through fields and over three bridges.",
            "After an hour the path split in two.",
        ),
        w.pick(
            f"On the way {a.he} met {b.name}, {article(b.trait)} {b.kind} with {article(w.other)}.",
            f"Beside the road sat {b.name}, {article(b.trait)} {b.kind}, who looked {w.pick('tired', 'lost', 'hungry')}.",
        ),
        w.pick(
            f'"Where are you going?" asked {b.name}. "To {goal}," said {a.name}.',
            f'"Take me with you," said {b.name}. "I know the songs, and you know the way."',
            f'{a.name} gave {b.him} some {w.food}. "Thank you," said {b.name}. "Now I can walk again."',
        ),
        w.pick(
            "They slept under a tree and woke when the birds began to sing.",
            "When it rained, they hid in a barn and told each other stories.",
            f"At night {b.name} was afraid of the dark, but {a.name} was not.",
        ),
        w.pick(
            f"On the third day they saw {goal}, and it was more beautiful than they had thought.",
            f"In the end they reached {goal}, and there they stood without a word.",
        ),
        w.pick(
            f'"The best part was the way," said {a.name}.',
            f"{a.name} went home with a new friend.",
            "From then on they went there every year.",
        ),
    ]


def garden(w: World) -> list[str]:
    a, b = w.a, w.b
    plant = w.pick("an apple tree", "a row of beans", "a rose", "a pumpkin", "a sunflower", "a cherry tree")
    return [
        w.pick(f"In spring {a.name} planted {plant}.", f"{a.name} found a seed {w.hiding} and planted it."),
        w.pick(
            f"Every morning {a.he} gave it water and said a kind word to it.",
            f"For two weeks nothing happened, but {a.he} was patient.",
        ),
        w.pick(
            f'"Nothing will grow there," said {b.name}, {article(b.trait)} {b.kind}.',
            f"{b.name} the {b.kind} laughed and said that the ground was too dry.",
        ),
        w.pick(
            f'"Wait and see," said {a.name}.',
            f"{a.name} did not answer. {capital(a.he)} only smiled.",
        ),
        w.pick(
            "One night a soft rain fell, and in the morning there was a green leaf.",
            "Then a small green leaf came out of the ground.",
        ),
        w.pick(
            f"By autumn there was so much that {a.name} could share it with everybody.",
            f"When summer came, it was taller than {b.name}.",
        ),
        w.pick(
            f'"I was wrong," said {b.name}, and {a.name} gave {b.him} the first one.',
            f'{b.name} asked how {a.he} had done it. "I did not stop," said {a.name}.',
        ),
    ]


def festival(w: World) -> list[str]:
    a, b = w.a, w.b
    return [
        w.pick("Once a year there was a great feast in the village.", "The day of the race had come."),
        w.pick(
            f"{a.name} wanted to bring {w.food}, but the pot was empty.",
            f"{a.name} wanted to play the {w.pick('flute', 'drum', 'violin')}, but {a.he} was afraid.",
        ),
        w.pick(
            f'"I cannot go," {a.he} said. "Everybody will laugh at me."',
            f"{capital(a.he)} hid behind a tree and watched the others.",
        ),
        w.pick(
            f"But {b.name}, {article(b.trait)} {b.kind}, saw {a.him} and sat down beside {a.him}.",
            f"But {b.name} the {b.kind} had seen everything.",
        ),
        w.pick(
            f'"I was afraid too, the first time," said {b.name}. "Hold my hand."',
            f'"Nobody is good at everything," said {b.name}. "Come as you are."',
        ),
        w.pick(
            f"So {a.name} took a deep breath and stepped into the light.",
            "They went together, and the music was loud and the lamps were bright.",
        ),
        w.pick(
            f"That night {a.name} laughed more than in the whole year before.",
            f"When it was over, everybody clapped, and {a.name} was {w.feeling}.",
        ),
    ]


def secret(w: World) -> list[str]:
    a, b = w.a, w.b
    return [
        w.pick(
            f"One night {a.name} heard a strange sound {w.hiding}.",
            f"One evening {a.name} saw a light {w.hiding}.",
        ),
        w.pick(
            f"{capital(a.he)} took {a.his} {w.thing} and went outside.",
            f"{capital(a.his)} heart beat fast, but {a.he} wanted to know what it was.",
        ),
        w.pick(
            f"There sat {b.name}, {article(b.trait)} {b.kind}, with {article(w.other)} on {b.his} knees.",
            f"It was only {b.name}, {article(b.trait)} {b.kind}, who was trying to mend {article(w.other)}.",
        ),
        w.pick(
            f'"Please do not tell anyone," {b.he} said. "It is a gift."',
            f'"I did not want to wake you," said {b.name}.',
        ),
        w.pick(
            f"{a.name} promised, and {a.he} kept {a.his} word.",
            f"{a.name} held the light, and {b.name} finished the work.",
        ),
        w.pick(
            f"A week later the {w.other} stood in front of {a.his} door. It was for {a.him}!",
            f"In the morning the {w.other} was as good as new.",
        ),
        w.pick("Some secrets are worth keeping.", f"{a.name} never forgot that night."),
    ]


PLOTS: tuple[Callable[[World], list[str]], ...] = (lost, build, journey, garden, festival, secret)


def ending(w: World) -> str:
    a, b = w.a, w.b
    return w.pick(
        f"And that evening {a.name} and {b.name} ate {w.food} together.",
        f"From that day on {a.name} and {b.name} were friends.",
        f"Then {a.name} went to bed and slept until morning.",
        "And so the day came to an end.",
        f"If you go there today, you may still see {a.name} and {b.name}.",
        f"{a.name} looked up at the sky and was {w.feeling}.",
    )


def request(w: World) -> str:
    """What somebody might ask for to be told this story."""
    return w.pick(
        f"Tell me a story about {article(w.a.kind)}.",
        f"Tell me about {w.a.name} the {w.a.kind}.",
        f"A story about {w.a.name}, please.",
        f"Can you tell me a story about {article(w.a.trait)} {w.a.kind}?",
        f"I would like a story about {article(w.a.kind)} and {article(w.b.kind)}.",
        "Tell me a story.",
    )


def story(source: random.Random) -> str:
    """One story, a paragraph or two."""
    return tell(make_world(source), source)


def chat(source: random.Random) -> tuple[str, str]:
    """A request and the story that answers it."""
    w = make_world(source)
    return request(w), tell(w, source)


def tell(w: World, source: random.Random) -> str:
    first = [opening(w)]
    if source.random() < 0.6:
        first.append(habit(w))
    middle = source.choice(PLOTS)(w)
    if source.random() < 0.5:
        middle.insert(0, w.weather)
    text = " ".join(first) + ("\n" if source.random() < 0.5 else " ") + " ".join(middle)
    return f"{text} {ending(w)}"


def main() -> None:
    source = random.Random(0)
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        print(story(source), end="\n\n")


if __name__ == "__main__":
    main()
