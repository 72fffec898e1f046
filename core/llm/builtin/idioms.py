"""Fixed phrases of English in which a common word means something else: "take place", "can't wait", "check it out"."""

from __future__ import annotations

from core.llm.builtin.english import phrases

IDIOMS = phrases(
    """
    first place | second place | third place | take place | taking place | taken place | all over the place
    in place of | fall into place | place an order | place our order | place my order | place the order
    in order to | in order for | in short order | made to order | out of order | law and order | of course
    in due course | can't wait | cant wait | cannot wait | couldn't wait | could not wait | check out | check it out
    check them out | check this out | check this place out | double check | reality check | pay attention
    pay a visit | pay our respects | pay off | at any cost | at all costs | last minute | any minute | wait a minute
    up to the minute | no room for | room for improvement | make room for | elbow room | spot on | hit the spot
    soft spot | blind spot | raise the bar | set the bar | behind bars | bar none | free time | time flies
    in the mood | in no mood | change of scene | at the end of the day | word of mouth | food for thought
    piece of cake | icing on the cake | big cheese | spill the beans | best thing since sliced bread | grain of salt
    pinch of salt | salt of the earth | small potatoes | hot potato | couch potato | sour grapes | in a nutshell
    big apple | bad apple | walk on eggshells | out to lunch | in a pickle | go bananas | in hot water
    keep the change | face value | for what it's worth | worth a try | worth a look | worth a visit | worth the trip
    worth mentioning | worth noting | worth remembering | cheap shot | talk is cheap | than we bargained for
    than i bargained for | right on the money | fit the bill | foot the bill | clean bill of health
    tip of the iceberg | tip of my tongue | tip of the tongue | come clean | clean break | clean slate | clean cut
    quick and dirty | dirty look | bite the dust | dust settled | crystal clear | shot in the dark | dark horse
    in light of | in the light of | see the light | make light of | green light | light hearted | loud and clear
    out loud | cold shoulder | cold feet | in cold blood | hot topic | face the music | music to my ears
    far from it | as far as | so far as | by far | far and away | near miss | nowhere near | close to tears
    close to perfect | close call | close second | next to nothing | next to impossible | walk in the park
    miles better | miles ahead | a mile off | point of view | in view of | with a view to | corner the market
    cut corners | middle of the road | a host of | a whole host of | guest of honour | guest of honor | staff writer
    lip service | secret service | jury service | at your service | slow but sure | slowly but surely
    sooner or later | wish list | bucket list | to do list | special occasion | nothing special | no choice but
    no option but | by choice | variety of reasons | spice of life | turn the tables | take a back seat
    edge of your seat | across the board | drawing board | in the long run | run of the mill | big deal
    great deal of | good deal of | deal with | deal breaker | pay the price | drop of a hat | half the battle
    par for the course | out of the question | at a loss | by chance | high time | fine tune | break even
    break down | in good hands | kill time | out of sight | in the long term | bored to tears | line of work
    in line with | a matter of taste | taste in music | have seen better days | rain check | food chain
    cook the books | spread the word | on the other hand | second to none | hands down | fresh air | fresh start
    """
)
"""A hit inside one of them is doubted. Each word stands for its forms: "pay attention" covers "paid attention"."""
