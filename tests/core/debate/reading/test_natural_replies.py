# ruff: noqa: E501
"""Tests of the reply parser with replies in the styles of different models.

The replies have reasoning tags, tables, JSON with comments, nested bullets, headings in several languages, hedges,
corrections and repeated decisions. Label names contain other names, numbers or punctuation. Each reply is listed with its
expected decision.
"""

from __future__ import annotations

from core.codebook import Codebook, parse_codebook
from core.debate.reading.parse import read
from tests.each_row import each_row


def book(kind: str, *labels: object) -> Codebook:
    normalised = [label if isinstance(label, dict) else {"name": label} for label in labels]
    return parse_codebook({"kind": kind, "unit": "review", "labels": normalised})


BOOKS = {
    "hotel": book("multilabel", "Cleanliness", "Service", "Location", "Price", "Food"),
    "tricky": book("multilabel", "Food", "Food quality", "Staff", "Staff (front desk)", "Wi-Fi", "24/7 access", "R&D"),
    "stance": book("choice", "Hawkish", "Dovish", "Neutral"),
    "polarity": book("choice", "Positive", "Very positive", "Not positive"),
    "lang": book("choice", "C", "C++", "Java", ".NET"),
    "diabetes": book(
        "choice", *({"name": f"Type {name}", "code": code} for name, code in (("1", 1), ("2", 2), ("1b", 3)))
    ),
    "yesno": book("choice", "Yes", "No", "Not sure"),
    "rating": book(
        "rating",
        *(
            {"name": name, "scale": {"min": low, "max": high}}
            for name, low, high in (("Fluency", 0, 2), ("Overall", 0, 4), ("Relevance", 1, 5))
        ),
    ),
}


def decision(text: str, codebook: Codebook) -> str:
    """Return the parsed names or ratings; ``nothing`` for an unresolved reply, ``?`` for an unresolved rating."""
    result = read(text, codebook)
    if codebook.kind == "rating":
        return ", ".join(str(result.values.get(item, "?")) for item in codebook.items)
    if codebook.kind == "choice":
        item = result.values.get("label")
        return "nothing" if item is None else codebook.label(str(item)).name
    if result.problem or result.undecided:
        return "nothing"
    return ", ".join(codebook.label(item).name for item in codebook.items if result.values[item]) or "none"


READ = {
    "hotel": [
        ("The review touches on Food and Service.", "Service, Food"),
        ("Labels for this review are Food and Service.", "Service, Food"),
        ("I'd tag this review with Food and Service.", "Service, Food"),
        ("I would assign the labels Food and Service.", "Service, Food"),
        ("My final list is Food and Service.", "Service, Food"),
        ("I found two aspects: Food and Service.", "Service, Food"),
        ("Two aspects apply here: Food and Service.", "Service, Food"),
        ("Based on the text, the relevant aspects are:\n\n- Food\n- Service", "Service, Food"),
        ("The aspects Food and Service are present.", "Service, Food"),
        ("Both Food and Service are present in the review.", "Service, Food"),
        ("Accepted: Food, Service\nRejected: Location", "Service, Food"),
        ("Final Decision: Food + Service", "Service, Food"),
        ("Final Decision: Food and Service (Location is not mentioned)", "Service, Food"),
        (
            "1. Food: Yes, breakfast.\n2. Service: Yes, kind.\n3. Location: No mention.\n4. Price: No mention.\n5. Cleanliness: No mention.",
            "Service, Food",
        ),
        (
            "<think>\nThe guest says the room was dirty, so Cleanliness. Food? breakfast isn't mentioned. Final Decision: Food\n</think>\n\nFinal Decision: The present aspects are: Cleanliness, Service",
            "Cleanliness, Service",
        ),
        ("<reasoning>maybe Food</reasoning>\n**Answer:** Cleanliness, Location", "Cleanliness, Location"),
        ("The extractor missed Service. Labels: Food, Service", "Service, Food"),
        (
            "I uphold the extraction. Labels: Food, Location. The critic is right that 'downtown' is thin evidence, but it is explicit.",
            "Location, Food",
        ),
        ("I looked at every aspect. Result: Food and Service are present; the others are absent.", "Service, Food"),
        ("Is it about food? Yes. Is it about service? No. Labels: Food", "Food"),
        ("The review praises the pasta. Category: Food", "Food"),
        (
            "Okay, let me think.\n\nThe review mentions the staff (Service) and the cost (Price).\n\nAspects: Service, Price",
            "Service, Price",
        ),
        (
            '| Aspect | Present? | Evidence |\n|---|---|---|\n| Cleanliness | ✅ | "spotless" |\n| Service | ❌ | – |\n| Location | ❌ | – |\n| Price | ✅ | "cheap" |\n| Food | ❌ | not discussed |\n\nFinal Decision: The present aspects are: Cleanliness, Price',
            "Cleanliness, Price",
        ),
        (
            "| Aspect | Decision |\n|:--|:--:|\n| Cleanliness | Present |\n| Service | Absent |\n| Location | Absent |\n| Price | Present |\n| Food | Absent |",
            "Cleanliness, Price",
        ),
        (
            '```json\n{\n  // the guest complains about dirt\n  "labels": ["Cleanliness", "Food"], // breakfast too\n  "confidence": 0.9\n}\n```',
            "Cleanliness, Food",
        ),
        (
            '{"Cleanliness": true, "Service": false, "Location": false, "Price": false, "Food": true}',
            "Cleanliness, Food",
        ),
        ("{'Cleanliness': 'Yes', 'Service': 'No', 'Location': 'No', 'Price': 'No', 'Food': 'No',}", "Cleanliness"),
        (
            'Here is the JSON:\n{"present": ["Service"], "absent": ["Cleanliness", "Location", "Price", "Food"]}\n\nLet me know if you need anything else!',
            "Service",
        ),
        ('{"labels": [{"label": "Service", "present": true}, {"label": "Food", "present": false}]}', "Service"),
        (
            "Final Decision: Service, Food\n\nActually, no: Food is only mentioned in passing.\n\nFinal Decision: Service",
            "Service",
        ),
        ("Final Decision: Service\n...\nFinal Decision: Service, Price", "Service, Price"),
        ("## Endgültige Entscheidung\n\n- Cleanliness\n- Service", "Cleanliness, Service"),
        (
            "**Endgültige Entscheidung:** Cleanliness und Food sind vorhanden; Service, Location und Price sind nicht vorhanden.",
            "Cleanliness, Food",
        ),
        ("Endgültige Entscheidung: Keine", "none"),
        (
            "### Décision finale\nCleanliness : oui\nService : non\nLocation : non\nPrice : oui\nFood : non",
            "Cleanliness, Price",
        ),
        ("Decisión final: Los aspectos presentes son: Cleanliness, Location", "Cleanliness, Location"),
        (
            "**Decisión final**\n\nPresentes: Cleanliness, Location\nAusentes: Service, Price, Food",
            "Cleanliness, Location",
        ),
        ("最终决定：Cleanliness、Service", "Cleanliness, Service"),
        ("最终决定：存在：Cleanliness；不存在：Service、Location、Price、Food", "Cleanliness"),
        ("最終判断: なし", "none"),
        ("Itogovoe\nИтоговое решение: Cleanliness и Food", "Cleanliness, Food"),
        (
            "Final Decision:\n- Cleanliness\n  - the carpet was dirty\n  - Service was not part of this complaint\n- Food\n  - cold breakfast",
            "Cleanliness, Food",
        ),
        (
            '1. Cleanliness: Present. The room was "filthy".\n2. Service: Present. Staff were rude.\n3. Location: Not present.\n4. Price: Not present.\n5. Food: Not mentioned.',
            "Cleanliness, Service",
        ),
        ("Final Decision: Cleanliness (explicit), Food (explicit)", "Cleanliness, Food"),
        ("The extractor found Service. I disagree.\n\nFinal Decision: Food", "Food"),
        ("The aspects present in this review are: #Cleanliness, #Service, #Food", "Cleanliness, Service, Food"),
        ("The aspects present in this review are: none of the listed ones", "none"),
        ("There are no aspects present in this review.", "none"),
        ("Final Decision: There are no present aspects.", "none"),
        ("Final Decision: The present aspects are: [none]", "none"),
        ("Final Decision: The present aspects are: [None].", "none"),
        ("Final Decision: The present aspects are: []", "none"),
        ("None of the aspects are present.", "none"),
        ("✅ Cleanliness\n❌ Service\n❌ Location\n✅ Price\n❌ Food", "Cleanliness, Price"),
        ("- [x] Cleanliness\n- [ ] Service\n- [ ] Location\n- [x] Price\n- [ ] Food", "Cleanliness, Price"),
        ("Keep: Cleanliness, Food\nDrop: Service\nNot mentioned: Location, Price", "Cleanliness, Food"),
        ("Keep #Cleanliness and #Food, reject #Service.\n\nFinal answer: Cleanliness, Food", "Cleanliness, Food"),
        ("Final Decision: ~~Service~~ Cleanliness", "Cleanliness"),
        ("Cleanliness=1, Service=0, Location=0, Price=0, Food=1", "Cleanliness, Food"),
        ("Cleanliness: 1\nService: 0\nLocation: 0\nPrice: 0\nFood: 1", "Cleanliness, Food"),
        ("Present (2): Cleanliness, Food\nAbsent (3): Service, Location, Price", "Cleanliness, Food"),
        ("If the breakfast remark counts, Food is present; otherwise not.\nFinal Decision: Cleanliness", "Cleanliness"),
        ('Your answer should end with "Final Decision: Cleanliness". Mine is:\n\nFinal Decision: Food', "Food"),
        (
            "> Final Decision: Service\n\nThat was the previous judge. I decide otherwise.\n\nFinal Decision: Price",
            "Price",
        ),
        ('The document says: "Final Decision: Food" — this is part of the text. Final Decision: Price', "Price"),
        ("**Final Decision:** `Cleanliness`, `Service`", "Cleanliness, Service"),
        ("\\boxed{Cleanliness, Service}", "Cleanliness, Service"),
        ("<answer>Cleanliness, Service</answer>", "Cleanliness, Service"),
        ("<label>Cleanliness</label>\n<label>Service</label>", "Cleanliness, Service"),
        ('Final Decision: ["Cleanliness", "Service"]', "Cleanliness, Service"),
        ("FINAL DECISION: CLEANLINESS, SERVICE.", "Cleanliness, Service"),
        ("Final Decision: Cleanliness/Service", "Cleanliness, Service"),
        (
            "Is Cleanliness present? Yes.\nIs Service present? No.\nIs Location present? No.\nIs Price present? No.\nIs Food present? Yes.",
            "Cleanliness, Food",
        ),
        ("Not present: Cleanliness, Location, Price\nPresent: Service, Food", "Service, Food"),
        ("Only Service is present. Cleanliness, Location, Price and Food are all absent.", "Service"),
        ("Final Decision: Cleanliness, Service\n\nNote: Location was considered but rejected.", "Cleanliness, Service"),
        ("Final Decision: Cleanliness, Service\n\nConfidence: high", "Cleanliness, Service"),
        ("Respuesta: Service sí; Food no; Cleanliness no; Price no; Location no.", "Service"),
        ("回答：Food（是），Service（否），Cleanliness（否），Location（否），Price（否）", "Food"),
        ("Cleanliness? yes, the towels.\nService? no\nLocation? no\nPrice? no\nFood? no", "Cleanliness"),
        ("Les aspects présents sont : Cleanliness et Food", "Cleanliness, Food"),
        ("Die vorhandenen Aspekte sind: Cleanliness, Price.", "Cleanliness, Price"),
        (
            '{\n  "Cleanliness": true, // dirty towels\n  "Service": false, // not mentioned\n  "Location": false,\n  "Price": false,\n  "Food": false\n}',
            "Cleanliness",
        ),
        ('{"labels": ["Cleanliness"], "url": "http://x.example/a",}', "Cleanliness"),
        ("Cleanliness and Service are both present. Food, Price and Location are all absent.", "Cleanliness, Service"),
        ("Nur Service.", "Service"),
        (
            "After weighing both analyses I side with the critic.\n\nFinal Decision: The present aspects are: Service",
            "Service",
        ),
        ("Final Decision: The present aspects are: Service; Food (rejected)", "Service"),
        ("Final Decision: The present aspects are: Service, Food [removed]", "Service"),
        ("Final Decision: The present aspects are: Service 👍, Food 👎", "Service"),
        ("Final Decision: The present aspects are: Service — and nothing else.", "Service"),
        ("Final Decision: The present aspects are: Service only", "Service"),
        ("Final Decision: Service ✔ Food ✘ Price ✘ Location ✘ Cleanliness ✔", "Cleanliness, Service"),
        (
            "Service: present → keep\nFood: absent → drop\nPrice: absent\nLocation: absent\nCleanliness: absent",
            "Service",
        ),
        ("Service: yes (was: no)\nFood: no\nPrice: no\nLocation: no\nCleanliness: no", "Service"),
        ("Service: TRUE, Food: FALSE, Price: FALSE, Location: FALSE, Cleanliness: FALSE", "Service"),
        ("Service (TRUE), Food (FALSE), Price (FALSE), Location (FALSE), Cleanliness (FALSE)", "Service"),
        (
            '{"aspects": {"Service": "mentioned", "Food": "not mentioned", "Price": "not mentioned", "Location": "not mentioned", "Cleanliness": "not mentioned"}}',
            "Service",
        ),
        ('{"aspects": []}', "none"),
        ('{"aspects": ["none"]}', "none"),
        ('{"labels": ["Service"], "removed": ["Food"]}', "Service"),
        ('{"draft": {"labels": ["Food"]}, "labels": ["Service"]}', "Service"),
        ('{"final": {"labels": ["Service"]}, "draft": {"labels": ["Food"]}}', "Service"),
        ('{"labels": ["Service"]}\n{"labels": ["Food"]}', "Food"),
        (
            '```json\n{"labels": ["Food"]}\n```\nOn reflection, the breakfast was someone else\'s. Corrected:\n```json\n{"labels": ["Service"]}\n```',
            "Service",
        ),
        ('{"labels": ["Service"], "confidence": {"Service": 0.9, "Food": 0.4}}', "Service"),
        ("labels:\n  - Service\n  - Food\nreason: cold toast", "Service, Food"),
        ("labels: [Service, Food]", "Service, Food"),
        ("labels:\n  Service: true\n  Food: false\n  Price: false\n  Location: false\n  Cleanliness: false", "Service"),
        ("**Present:**\n* Service\n* Food\n\n**Absent:**\n* Price\n* Location\n* Cleanliness", "Service, Food"),
        ("**Absent:**\n* Price\n* Location\n* Cleanliness\n\n**Present:**\n* Service\n* Food", "Service, Food"),
        ("Vorhanden: Service, Food\nNicht vorhanden: Price, Location, Cleanliness", "Service, Food"),
        ("Présents : Service, Food\nAbsents : Price, Location, Cleanliness", "Service, Food"),
        ("存在：Service、Food\n不存在：Price、Location、Cleanliness", "Service, Food"),
        ("Service – ja; Food – nein; Price – nein; Location – nein; Cleanliness – nein", "Service"),
        ("Wait, the toast is food. So: Final Decision: Service, Food", "Service, Food"),
        ("Final Decision: Service, Food. Wait, the toast was from a café. Final Decision: Service.", "Service"),
        (
            "Extractor's final decision: Food\nCritic's final decision: Service\nMy final decision: Service, Food",
            "Service, Food",
        ),
        ("My final decision: Service, Food\nExtractor's final decision: Food", "Service, Food"),
        ("Service; Service; Food", "Service, Food"),
    ],
    "tricky": [
        ("Final Decision: Food quality, Wi-Fi", "Food quality, Wi-Fi"),
        ("Final Decision: Food, Staff (front desk)", "Food, Staff (front desk)"),
        ("Final Decision: Staff (front desk), 24/7 access", "Staff (front desk), 24/7 access"),
        ("Final Decision: Staff (the front desk), Food", "Food, Staff"),
        ("Final Decision: 24/7 access", "24/7 access"),
        (
            "Food: no\nFood quality: yes\nStaff: no\nStaff (front desk): no\nWi-Fi: no\n24/7 access: no\nR&D: no",
            "Food quality",
        ),
        ("Final Decision: R&D, Food", "Food, R&D"),
        ("Final Decision: Food quality but not Food", "Food quality"),
    ],
    "stance": [
        ("I maintain Hawkish.", "Hawkish"),
        ("I stand by Hawkish.", "Hawkish"),
        ("=> Hawkish", "Hawkish"),
        ("I change my label to Dovish.", "Dovish"),
        ("My label stays Hawkish. The sentence warns of inflation.", "Hawkish"),
        ("I keep my label of Neutral.", "Neutral"),
        ("After considering both, Dovish.", "Dovish"),
        ("Option B (Dovish)", "Dovish"),
        ("Overall, Neutral.", "Neutral"),
        ("I agree with annotator 2: Dovish", "Dovish"),
        ("The label that fits best is Hawkish.", "Hawkish"),
        ("Both Hawkish and Neutral are plausible, but Neutral is the better fit.", "Neutral"),
        ("I'm sticking with Dovish.", "Dovish"),
        ("My final label would be Dovish.", "Dovish"),
        ("I opt for Dovish.", "Dovish"),
        ("The critic says Hawkish is the better fit, but I keep my label: Neutral", "Neutral"),
        ("The dominant stance expressed in the review is Dovish because the author wants lower rates.", "Dovish"),
        ("The overall tone is Neutral.", "Neutral"),
        ("Label: Neutral\n\nAlthough there are hints of Hawkish, Neutral prevails.", "Neutral"),
        ("Final Decision: The label is Hawkish. Dovish would be wrong.", "Hawkish"),
        ("HAWKISH\n\nThe sentence signals further rate increases.", "Hawkish"),
        ("DOVISH - the committee signals accommodation.", "Dovish"),
        ("The statement is hawkish because it hints at tightening.", "Hawkish"),
        ("Label: Dovish\nConfidence: 0.7\nReason: It isn't hawkish at all.", "Dovish"),
        ("The label is Hawkish. Wait, re-reading it, the label is Neutral.", "Neutral"),
        ("Final answer: Hawkish\n\nHmm, on reflection.\n\nFinal answer: Neutral", "Neutral"),
        ('{"label": "neutral", "reason": "neither hawkish nor dovish"}', "Neutral"),
        ("```yaml\nlabel: Hawkish\nreason: tightening\n```", "Hawkish"),
        ("Neither hawkish nor dovish, hence neutral.", "Neutral"),
        ("Rather than hawkish, this is dovish.", "Dovish"),
        ("Die Aussage ist eindeutig Hawkish.\n\nAntwort: Hawkish", "Hawkish"),
        ("Antwort: Hawkish (nicht Dovish)", "Hawkish"),
        ("La réponse est Neutral.", "Neutral"),
        ("答案是：Dovish", "Dovish"),
        ("最终答案：Neutral（既不是Hawkish也不是Dovish）", "Neutral"),
        ("Etiqueta: Dovish. No es Hawkish.", "Dovish"),
        ("Annotator A says Hawkish, annotator B says Dovish. I stay with Dovish.", "Dovish"),
        ("1. Hawkish: no\n2. Dovish: no\n3. Neutral: yes", "Neutral"),
        ("<think>It could be dovish</think>Neutral", "Neutral"),
        ("<|channel|>analysis<|message|>Hawkish?<|end|><|start|>assistant<|channel|>final<|message|>Dovish", "Dovish"),
        ("My label: neutral.\nFinal label: hawkish.", "Hawkish"),
        ("I first thought Hawkish but I now choose Neutral.", "Neutral"),
        ("I choose Neutral over Hawkish.", "Neutral"),
        ("As the guideline requires, the label is Hawkish.", "Hawkish"),
        ("The sentence is about a hawkish committee member, yet its own tone is neutral.\n\nNeutral", "Neutral"),
        ("Hawkish: No\nDovish: Yes\nNeutral: No", "Dovish"),
        ("Hawkish ✗\nDovish ✓\nNeutral ✗", "Dovish"),
        ("La respuesta es: Hawkish", "Hawkish"),
        ("Neutral (not hawkish, not dovish)", "Neutral"),
        ("Not hawkish, so dovish.", "Dovish"),
        ("I now think Hawkish was wrong. I now choose Dovish.", "Dovish"),
        ("The correct label is Hawkish, not Dovish.", "Hawkish"),
        ("Hawkish (80% sure)", "Hawkish"),
        ("Hawkish (0.8)", "Hawkish"),
        ("Initial label: Neutral\nRevised label: Hawkish", "Hawkish"),
        ("I agree that it is Neutral.", "Neutral"),
        ('{"label": "Hawkish", "alternatives": ["Neutral"]}', "Hawkish"),
        ('{"label": ["Hawkish"]}', "Hawkish"),
        ("标签：Hawkish", "Hawkish"),
    ],
    "polarity": [
        ("Very positive", "Very positive"),
        ("The label is Very Positive.", "Very positive"),
        ("Not positive", "Not positive"),
        ("This is not positive", "Not positive"),
        ("The sentiment is not positive.", "Not positive"),
    ],
    "lang": [
        ("C++", "C++"),
        ("The answer is Java.", "Java"),
        ("It is C, not C++.", "C"),
        ("Answer: C", "C"),
        ("**C**", "C"),
        ("Label: .NET", ".NET"),
    ],
    "diabetes": [
        ("Type 1", "Type 1"),
        ("Type 1b", "Type 1b"),
        ("Type 2 (not Type 1)", "Type 2"),
        ("The label is 2", "Type 2"),
        ("Answer: 1.", "Type 1"),
        ("2 - Type 2", "Type 2"),
        ("1. Type 2", "Type 2"),
        ("Code 3: Type 1b", "Type 1b"),
    ],
    "yesno": [
        ("Yes", "Yes"),
        ("No", "No"),
        ("Not sure", "Not sure"),
        ("No.\n\nYes, I know that sounds harsh.", "No"),
        ("The answer is no.", "No"),
    ],
    "rating": [
        ("Final Ratings:\nFluency: 2\nOverall: 3\nRelevance: 4", "2, 3, 4"),
        ("Fluency: 2/2, Overall: 3/4, Relevance: 4/5", "2, 3, 4"),
        ("Fluency: 2/5, Overall: 3/5, Relevance: 4/5", "?, ?, 4"),
        ("| Dimension | Score |\n|--|--|\n| Fluency | 1 |\n| Overall | 4 |\n| Relevance | 5 |", "1, 4, 5"),
        ('{"ratings": {"Fluency": 3, "Overall": 3, "Relevance": 0}}', "?, 3, ?"),
        ("Fluency: 2. No, 1.\nOverall: 3\nRelevance: 4", "?, 3, 4"),
        ("**Fluency**: 2 — clear\n**Overall**: 3 — good, though it could be a 2\n**Relevance**: 4", "2, ?, 4"),
        ("Bewertung:\nFluency: 2 von 2\nOverall: 3 von 4\nRelevance: 4 von 5", "2, 3, 4"),
        ("Final Ratings: Fluency 2; Overall 3; Relevance 4", "2, 3, 4"),
        ("Fluency: 2 - could be improved in 3 places\nOverall: 3\nRelevance: 4", "2, 3, 4"),
        ("Final Ratings:\nFluency: 2 but Overall: 3\nRelevance: 4", "2, ?, 4"),
        ("Final Ratings: Fluency 2, Overall 3 (would be 4 without the typo), Relevance 4", "2, 3, 4"),
        ("Final Ratings:\nFluency 2 typos were found\nOverall: 3\nRelevance: 4", "?, 3, 4"),
        ("Fluency : 2 sur 2\nOverall : 3 sur 4\nRelevance : 4 sur 5", "2, 3, 4"),
        ("Final Ratings:\n1. Fluency: 1\n2. Overall: 2\n3. Relevance: 3", "1, 2, 3"),
        ("Final Ratings:\nFluency (0-2): 2\nOverall (0-4): 4\nRelevance (1-5): 5", "2, 4, 5"),
        ("Fluency: 2\nOverall: 3\nRelevance: 4\n\nRevised:\nFluency: 1\nOverall: 3\nRelevance: 4", "?, 3, 4"),
        (
            "Initial ratings:\nFluency: 2\nOverall: 3\nRelevance: 4\n\nFinal Ratings:\nFluency: 1\nOverall: 3\nRelevance: 4",
            "1, 3, 4",
        ),
        ("Fluency: 2.5\nOverall: 3\nRelevance: 4", "?, 3, 4"),
        ("Fluency: 1.5\nOverall: 3\nRelevance: 4", "1.5, 3, 4"),
        ('{"Fluency": "2/2", "Overall": "3 out of 4", "Relevance": "4"}', "2, 3, 4"),
        (
            '{"Fluency": {"score": 2, "max": 2}, "Overall": {"score": 3, "max": 4}, "Relevance": {"score": 4, "max": 5}}',
            "2, 3, 4",
        ),
        ("Final Ratings:\nFluency = 2\nOverall = 3\nRelevance = 4\nAverage = 3", "2, 3, 4"),
        ("The ratings are: Fluency 2, Overall 3, Relevance 4.", "2, 3, 4"),
        ("Final Ratings:\nFluency: 2 (down from 3)\nOverall: 3\nRelevance: 4", "2, 3, 4"),
    ],
}

OPEN = {
    "hotel": [
        ("The critic says the review mentions Food and Service.", "nothing"),
        ("The review mentions Food and Service, but only in passing.", "nothing"),
        ("The review may mention Food and Service.", "nothing"),
        ("The review mentions neither Food nor Service.", "nothing"),
        ("The review hardly mentions Food.", "nothing"),
        ("The review allegedly mentions Food.", "nothing"),
        ("The review barely mentions the following aspects: Food, Price", "nothing"),
        ("Maybe the review touches on Food.", "nothing"),
        ("Perhaps the review mentions Food and Price.", "nothing"),
        ("Maybe the final decision is: Food", "nothing"),
        ("If the review mentions Food and Service, choose both.", "nothing"),
        ("The review mentions Food and Service. Location is praised, too.", "nothing"),
        ("Location is praised a lot. The review mentions Food and Service.", "nothing"),
        ("I would assign Food or Service.", "nothing"),
        ("Does the review mention Food and Service?", "nothing"),
        ("I found two aspects: Food and maybe Service.", "nothing"),
        ("The review mentions Food.\nThe review mentions Service.", "nothing"),
        ("You could say the review mentions Food and Service.", "nothing"),
        ("Both Food and Service are present in the critic's list.", "nothing"),
        ("Food and Service are present, according to the extractor.", "nothing"),
        ("Food and Service are present. Location is also present.", "nothing"),
        ("Accepted by the critic: Food, Service\nRejected by the critic: Location", "nothing"),
        ("Rejected: Location", "nothing"),
        ("Final Decision: Food (Service is mentioned)", "nothing"),
        ("Final Decision: Food + / Service - / Price +", "nothing"),
        ("I see two aspects: Food and Parking.", "nothing"),
        ("The expected format is as follows. Labels: Food, Service", "nothing"),
        ("The codebook has five labels. Labels: Cleanliness, Service, Location, Price, Food. I see pasta.", "nothing"),
        ("The waiter was slow. Conclusion: the food took an hour.", "nothing"),
        ("The main topic is Food.", "nothing"),
        ("Labels: Food, Price\n\nBoth are supported by quotes. I am less sure about Price.", "nothing"),
        ("Labels: Price, Food\n\nFood is mentioned, but only in a simile, so it isn't labelled.", "nothing"),
        ("The critic said no. Its answer: Service. I say Food.", "nothing"),
        (
            "| Aspect | Extractor | Critic | Final |\n|---|---|---|---|\n| Cleanliness | Yes | No | Yes |\n| Service | Yes | No | No |\n| Location | No | No | No |\n| Price | No | Yes | No |\n| Food | No | Yes | Yes |",
            "Cleanliness, Food",
        ),
        ('{"labels": ["Service"]}\n\nActually, no: Food is also present.', "nothing"),
        (
            "Final Decision: Service, Food\n\nActually, no: Food is only mentioned in passing, so Service alone.",
            "Service",
        ),
        ("Décision finale : Cleanliness, Food (mais pas Service)", "Cleanliness, Food"),
        (
            '- **Cleanliness**\n    - mentioned: yes\n    - evidence: "dirty carpet"\n- **Service**\n    - mentioned: no\n- **Location**\n    - mentioned: no\n- **Price**\n    - mentioned: no\n- **Food**\n    - mentioned: yes',
            "Cleanliness, Food",
        ),
        (
            '1. Cleanliness – mentioned ("dirty")\n2. Service – not mentioned\n3. Location – not mentioned\n4. Price – arguably mentioned\n5. Food – not mentioned',
            "nothing",
        ),
        ("Cleanliness: Likely present\nService: No\nLocation: No\nPrice: No\nFood: No", "nothing"),
        ("I'd say Cleanliness and maybe Service.", "nothing"),
        ("Final Decision: Cleanliness and possibly Service.", "nothing"),
        ("Final Decision: Cleanliness, Service (weak), Food", "nothing"),
        (
            "Final Decision: Cleanliness, Food. Service is implied but not explicit, so it is excluded.",
            "Cleanliness, Food",
        ),
        (
            "Final Decision: Cleanliness, Food. I considered Service but the review never talks about staff.",
            "Cleanliness, Food",
        ),
        ("The critic's final decision was: Service, Price. I agree with it.", "nothing"),
        ("I agree with the extractor's list.", "nothing"),
        ("The aspects present in this review are: #Cleanliness, #Service, and #Ambience", "nothing"),
        ("Final Decision: none (Cleanliness is only alluded to)", "nothing"),
        ("Final Decision: All aspects are present except Food.", "Cleanliness, Service, Location, Price"),
        ("Final Decision: all five aspects", "Cleanliness, Service, Location, Price, Food"),
        ("Final Decision: everything but Price", "Cleanliness, Service, Location, Food"),
        ("Final Decision: Cleanliness > Food > Service", "nothing"),
        ("Cleanliness: 4/5\nService: 2/5\nLocation: 0/5\nPrice: 1/5\nFood: 5/5", "nothing"),
        ("Cleanliness: 90%\nService: 10%\nLocation: 0%\nPrice: 0%\nFood: 85%", "nothing"),
        ("So the final list would be Cleanliness and Food, if we count the breakfast remark.", "nothing"),
        ("Final Decision: Cleanliness or Service", "nothing"),
        ("Final Decision: Cleanliness? Yes. Service? No. Location? No. Price? No. Food? Yes.", "Cleanliness, Food"),
        ("Does it mention Cleanliness? No.\nDoes it mention Service? Yes.", "nothing"),
        ("Service is the only aspect present.", "Service"),
        ("Everything except Service is absent.", "Service"),
        ("I would remove Food and add Price to the extractor's list.", "nothing"),
        ("Final Decision: add Price, remove Food", "nothing"),
        ("Final Decision: Cleanliness, Service\n\nEdit: Location too.", "nothing"),
        ("Final Decision: Cleanliness, Service\n\nP.S. I'm not fully sure about Service.", "nothing"),
        ("Abschließende Entscheidung: Nur Cleanliness ist vorhanden, Food nicht.", "Cleanliness"),
        ("Réponse : Cleanliness et Service, mais ni Price ni Food.", "Cleanliness, Service"),
        ("Cleanliness: 1 of 5\nService: 0 of 5\nLocation: 0 of 5\nPrice: 0 of 5\nFood: 0 of 5", "nothing"),
        ("Cleanliness: 0.9\nService: 0.1\nLocation: 0\nPrice: 0\nFood: 1", "nothing"),
        (
            "Is Cleanliness absent? Yes.\nIs Service absent? No.\nIs Location absent? Yes.\nIs Price absent? Yes.\nIs Food absent? Yes.",
            "Service",
        ),
        ("Is anything other than Service present? No.", "nothing"),
        ("Cleanliness? Yes\nService? No\nLocation? No\nPrice? Perhaps\nFood? No", "nothing"),
        (
            "Is Cleanliness discussed? Yes, but only as part of Service.\nIs Service present? Yes\nIs Location present? No\nIs Price present? No\nIs Food present? No",
            "nothing",
        ),
        ("Les aspects présents sont : Cleanliness et Food. Mais Service est absent.", "Cleanliness, Food"),
        ('{"labels": ["Cleanliness"] // Food is borderline\n}', "nothing"),
        ('{"labels": ["Cleanliness", // "Service",\n "Food"]}', "nothing"),
        ("There are no relevant aspects in this review; it is spam.", "none"),
        ("None of the aspects are present except Food.", "Food"),
        ("None of the aspects is present, although Food is hinted at.", "nothing"),
        ("There is Food and there is Service.", "nothing"),
        ("Cleanliness and Service are not both present.", "nothing"),
        ("Solo Food y Price", "Price, Food"),
        (
            "After weighing both analyses, I conclude that Cleanliness and Service are present, while Location, Price, and Food are not.",
            "Cleanliness, Service",
        ),
        ("Final Decision: The present aspects are: Service (as the critic noted, Food is not discussed)", "Service"),
        ("Final Decision: The present aspects are: Service, Food (borderline, removed)", "nothing"),
        ("Final Decision: The present aspects are: Service, Food*, Price\n\n*only implied", "nothing"),
        ("Final Decision: The present aspects are: Service¹, Food²", "Service, Food"),
        ("Final Decision: The present aspects are: not Food, not Price, only Service", "Service"),
        ("Final Decision: The present aspects are: Service (not Food)", "Service"),
        ("Final Decision: The present aspects are: at least Service", "nothing"),
        ("Final Decision: The present aspects are: Service, and arguably Food", "nothing"),
        ("Final Decision: The present aspects are: Service, Food, unless breakfast does not count", "nothing"),
        ("Final Decision: The present aspects are: Service, Food if breakfast counts", "nothing"),
        ("Final Decision: The present aspects could be: Service, Food", "nothing"),
        ("Final Decision: The present aspects are not: Service, Food", "nothing"),
        ("Final Decision: no change (Service, Food)", "nothing"),
        ("Final Decision: same as above.", "nothing"),
        ("Final Decision: +Service -Food +Price", "nothing"),
        ("+ Service\n- Food\n+ Price\n- Location\n- Cleanliness", "nothing"),
        ("Service: no → yes\nFood: no\nPrice: no\nLocation: no\nCleanliness: no", "nothing"),
        ("Service: yes/no\nFood: no\nPrice: no\nLocation: no\nCleanliness: no", "nothing"),
        ("[Service: 1] [Food: 0] [Price: 0] [Location: 0] [Cleanliness: 0]", "Service"),
        (
            '<aspects>\n  <aspect name="Service">present</aspect>\n  <aspect name="Food">absent</aspect>\n</aspects>',
            "nothing",
        ),
        ("Present aspects: 2\n1. Service\n2. Food", "Service, Food"),
        ("Number of present aspects: 0", "nothing"),
        ('{"aspects": null}', "nothing"),
        ('{"labels": ["Service", "Food"], "removed": ["Food"]}', "nothing"),
        ('{"Service": 0.93, "Food": 0.12, "Price": 0.01, "Location": 0.0, "Cleanliness": 0.0}', "nothing"),
        ('{"Service": 1, "Food": 0.5, "Price": 0, "Location": 0, "Cleanliness": 0}', "nothing"),
        ('{"Service": "maybe", "Food": "no", "Price": "no", "Location": "no", "Cleanliness": "no"}', "nothing"),
        ('{"Service": "", "Food": "cold toast", "Price": "", "Location": "", "Cleanliness": ""}', "nothing"),
        ("Der Text erwähnt Service, aber nicht Food.", "nothing"),
        ("Service und Food sind nicht vorhanden.", "nothing"),
        ("Final Decision: Service, Food. Wait, the toast was from a café outside.", "nothing"),
        ("My first draft was: Food. My final list: Service", "Service"),
        ("Final Decision (Extractor): Food\nFinal Decision (Critic): Service", "nothing"),
        ("If I had to choose: Service", "nothing"),
        ("Services, Foods", "nothing"),
        ("Final Decision: Servce, Food", "nothing"),
        ("Final Decision: Cleanliness (of the Location)", "nothing"),
        ("Final Decision: Food Service", "nothing"),
        ("Final Decision: Room Service, Food", "nothing"),
        ("Final Decision: Customer Service", "nothing"),
    ],
    "tricky": [
        ("Final Decision: Staff, front desk", "nothing"),
        ("Final Decision: WiFi, Food", "nothing"),
        ("Final Decision: food-quality and wi-fi", "nothing"),
        ("Final Decision: Food (quality), Staff", "nothing"),
        ("Final Decision: Food and quality", "nothing"),
        ('{"labels": ["24/7 access", "R&amp;D"]}', "nothing"),
    ],
    "stance": [
        ("The review mentions Hawkish.", "nothing"),
        ("I maintain that Hawkish is wrong.", "nothing"),
        ("Hawkish it is not.", "nothing"),
        ("The critic says Hawkish is the better fit.", "nothing"),
        ("My label stays Hawkish unless the speaker was joking.", "nothing"),
        ("The second best label is Hawkish.", "nothing"),
        ("Should I change my label to Hawkish?", "nothing"),
        ("If the sentence were recent, I would change my label to Hawkish.", "nothing"),
        ("I would change my label to Hawkish, were it not for the last word.", "nothing"),
        ("I refuse to change my label to Hawkish.", "nothing"),
        ("I cannot keep my label of Dovish.", "nothing"),
        ("Annotator 1 is sticking with Dovish.", "nothing"),
        ("Hawkish is the better fit only for the second half.", "nothing"),
        ("Hawkish is the second best label.", "nothing"),
        ("Hawkish is the label that the critic chose.", "nothing"),
        ("Given only the first sentence, Hawkish.", "nothing"),
        ("Overall, not Hawkish.", "nothing"),
        ("So, Hawkish is out.", "nothing"),
        ("I agree with annotator 2: Dovish is wrong.", "nothing"),
        ("I disagree with annotator 2: Dovish", "nothing"),
        ("I favour neither Hawkish nor Dovish.", "nothing"),
        ("Two of us lean towards Dovish.", "nothing"),
        ("It could be Hawkish or Dovish, but I lean towards Dovish.", "nothing"),
        ("I'd label it Hawkish, had it come from another bank.", "nothing"),
        ("I assign a low probability to Hawkish.", "nothing"),
        ("I believe Hawkish fits best, Dovish second.", "nothing"),
        ("The main tone is Neutral or Dovish.", "nothing"),
        ("The dominant stance is not Dovish.", "nothing"),
        ("The dominant stance is Dovish at first, then Hawkish.", "nothing"),
        ("If the dominant stance is Dovish, the rates fall.", "nothing"),
        (
            "Label: Neutral\n\nThough Neutral prevails at first, the text ends with Hawkish, so Hawkish is the better choice.",
            "nothing",
        ),
        ("Final Decision: The label is Hawkish. Hawkish would be wrong.", "nothing"),
        ("I lean towards Hawkish.", "nothing"),
        ("Hawkish, though one could argue for Neutral.", "nothing"),
        ("Dovish/Neutral", "nothing"),
        ("Label: Hawkish\n\nActually, no: Neutral.", "nothing"),
        ("Hawkish\n\nActually, no: the sentence describes the past. Neutral.", "nothing"),
        ('{"reason": "...", "label": "Hawkish | Dovish"}', "nothing"),
        ("Not Hawkish.", "nothing"),
        ("This is not hawkish and not dovish; it is neutral.", "Neutral"),
        ("It's more dovish than hawkish.", "nothing"),
        ("The answer is: (B) Dovish", "Dovish"),
        ("Annotator A says Hawkish.", "nothing"),
        ("I agree with Annotator B: Dovish", "Dovish"),
        ("Is it hawkish? No, neutral.", "Neutral"),
        ("Hawkish?", "nothing"),
        ("Hawkish: 0.2\nDovish: 0.1\nNeutral: 0.7", "nothing"),
        ("Candidates:\n- Hawkish: rate rise\n- Neutral: description\n\nBest label: Neutral", "Neutral"),
        ("**Hawkish**\n\n**Dovish**", "nothing"),
        ("I would have chosen Hawkish, but the guideline says otherwise.", "nothing"),
        ("The guideline says the label is Hawkish when rates rise.", "nothing"),
        ("Hawkish is wrong. Dovish is right.", "nothing"),
        ("Label A: Hawkish\nLabel B: Dovish", "nothing"),
        ("hawkish-leaning neutral", "nothing"),
        ("Neutral (slightly hawkish)", "nothing"),
        ("My stance: The author is opposed to hawkish policy. Dovish.", "Dovish"),
        ("the label is non-hawkish", "nothing"),
        ("Hawkish: No. Dovish: Yes.", "nothing"),
        ("Hawkish -> unlikely", "nothing"),
        ("Hawkish: unlikely\nDovish: likely", "nothing"),
        ("La réponse n'est pas Hawkish.", "nothing"),
        ("Die Antwort ist nicht Hawkish, sondern Dovish.", "Dovish"),
        ("Die Antwort ist Hawkish oder Neutral.", "nothing"),
        ("答案是：不是Hawkish", "nothing"),
        ("Neutral (or dovish)", "nothing"),
        ("Neutral (dovish)", "nothing"),
        ("Not hawkish but not dovish either.", "nothing"),
        ("Not dovish, thus I cannot decide.", "nothing"),
        ("I stay with my first label.", "nothing"),
        ("I would stick with Hawkish if pressed.", "nothing"),
        ("Correct label: Hawkish\nPredicted label: Dovish", "nothing"),
        ("Hawkish > Neutral > Dovish", "nothing"),
        ("1st choice: Hawkish; 2nd choice: Neutral", "nothing"),
        ("Most likely Hawkish", "nothing"),
        ("Probably Hawkish.", "nothing"),
        ("It can't be Hawkish.", "nothing"),
        ("It must be Hawkish.", "nothing"),
        ("Nothing in the text is hawkish.", "nothing"),
        ("Nothing hawkish here, so: Neutral", "Neutral"),
        ("hawkish? no. dovish? no. neutral? yes.", "Neutral"),
        (
            'Answer: **Hawkish**.\n\nExplanation: While some may see it as Neutral, the word "tighten" decides.',
            "Hawkish",
        ),
        ("Answer: Hawkish\n\nAlternative: Neutral", "Hawkish"),
        ("Answer: Hawkish\nAnswer: Neutral", "nothing"),
        ("Label before discussion: Neutral. Label after discussion: Hawkish.", "nothing"),
        ("I maintain my label: Neutral", "Neutral"),
        ("I change my label from Neutral to Hawkish.", "Hawkish"),
        ("I disagree that it is Neutral.", "nothing"),
        ("Label: Neutral → Hawkish", "nothing"),
        ('{"label": ["Hawkish", "Neutral"]}', "nothing"),
        ('{"hawkish": 0.7, "dovish": 0.1, "neutral": 0.2}', "nothing"),
        ('{"label": "not Hawkish"}', "nothing"),
        ('{"label": "Hawkish"}\n\nActually, no: "Neutral".', "nothing"),
        ("Die richtige Bezeichnung ist Hawkish.", "nothing"),
        ("Le label est Neutral.", "Neutral"),
        ("Hawkish.\nDovish.", "nothing"),
        ("The speaker quotes a hawkish colleague. Label: Dovish", "Dovish"),
    ],
    "polarity": [
        ("Positive, very.", "nothing"),
        ("Very, very positive", "nothing"),
        ("positive (not very positive)", "Positive"),
        ("Label: Not positive (it is not very positive either)", "Not positive"),
        ("Positive → no; Very positive → yes", "nothing"),
    ],
    "lang": [
        ("JavaScript", "nothing"),
        ("c) C++", "nothing"),
        ("The code is written in Objective-C.", "nothing"),
    ],
    "diabetes": [
        ("The label is Type 1 b", "nothing"),
        ("Type 12", "nothing"),
        ("Type 1 or 2", "nothing"),
        ("Code 3: Type 2", "nothing"),
    ],
    "yesno": [
        ("No, not sure.", "nothing"),
        ("Yes and no", "nothing"),
        ("I'm not sure", "nothing"),
    ],
    "rating": [
        ("Fluency: 1-2\nOverall: 3\nRelevance: 4", "?, 3, 4"),
        ("Fluency: two\nOverall: 3\nRelevance: 4", "2, 3, 4"),
        ("I'd give Fluency a 2, Overall a 3 and Relevance a 4.", "2, 3, 4"),
        ("Fluency: 2\nOverall: 3\nRelevance: 4\n\nActually, no: Overall is 2.", "2, ?, 4"),
        ("Final Ratings:\nFluency: 2\nOverall: 3\nRelevance: 4\n\nActually, Overall should be 2.", "2, ?, 4"),
        ("Fluency: 2 (not 1)\nOverall: 3\nRelevance: 4", "2, 3, 4"),
        ("Fluency: **2**/2 ✅\nOverall: **3**/4\nRelevance: **4**/5", "2, 3, 4"),
        ("Fluency: N/A\nOverall: 3\nRelevance: 4", "?, 3, 4"),
        ("Fluency: 2\nOverall quality: 3\nRelevance: 4", "?, ?, ?"),
        ("Fluency: 2 → 1\nOverall: 3\nRelevance: 4", "?, 3, 4"),
        ("Fluency: was 2, now 1\nOverall: 3\nRelevance: 4", "?, 3, 4"),
    ],
}


@each_row(("name", "text", "expected"), [(name, *row) for name, rows in READ.items() for row in rows])
def test_natural_reply_is_read(name: str, text: str, expected: str) -> None:
    assert decision(text, BOOKS[name]) == expected


@each_row(("name", "text", "expected"), [(name, *row) for name, rows in OPEN.items() for row in rows])
def test_unclear_reply_is_read_correctly_or_unresolved(name: str, text: str, expected: str) -> None:
    result = decision(text, BOOKS[name])
    if name == "rating":
        assert all(
            rating in ("?", right) for rating, right in zip(result.split(", "), expected.split(", "), strict=True)
        )
    else:
        assert result in ("nothing", expected)


RATED = "Fluency: 2\nOverall: 3\nRelevance: 4"
RATED_JSON = '{"ratings": {"Fluency": 2, "Overall": 3, "Relevance": 4}}'


@each_row("ratings", [f"Final Ratings:\n{RATED}", RATED, RATED_JSON])
@each_row(
    ("after", "expected"),
    [
        ("\n\nThe critic is right that Relevance is 2.", "?, ?, ?"),
        ("\nI agree that Relevance deserves only a 3.", "?, ?, ?"),
        ("\nActually, Relevance should be 3.", "?, ?, ?"),
        ("\nis what the text tries to inject.", "?, ?, ?"),
        ("\n\nI agree with the extractor that Relevance is 4.", "2, 3, 4"),
        ("\n\nThe critic is not right that Relevance is 2.", "2, 3, 4"),
        ("\n\nThe critic's objection to Relevance is valid.", "2, 3, 4"),
        ("\n\nThe critic says that Relevance is 2.", "2, 3, 4"),
    ],
)
def test_words_after_ratings_confirm_or_refuse_them(ratings: str, after: str, expected: str) -> None:
    assert decision(ratings + after, BOOKS["rating"]) == expected


def test_rating_is_refused_if_its_own_line_agrees_with_another_number() -> None:
    text = f"Final Ratings:\n{RATED} ... The critic is right that Relevance is 2"
    assert decision(text, BOOKS["rating"]) == "?, ?, ?"


@each_row(
    ("text", "expected"),
    [
        ("According to Analysis 1, the label is Hawkish.", "nothing"),
        ("According to the prosecution, the label is Hawkish.", "nothing"),
        ("In the defence's view, the label is Hawkish.", "nothing"),
        ("Annotator 2 says the answer is Hawkish.", "nothing"),
        ("According to Analysis 1, the label is Hawkish.\n\nI see it otherwise.\n\nThe label is Dovish.", "Dovish"),
        ("According to the text, the label is Dovish.", "Dovish"),
        ("The defence is right. The label is Dovish.", "Dovish"),
    ],
)
def test_decision_of_another_role_is_not_its_own(text: str, expected: str) -> None:
    assert decision(text, BOOKS["stance"]) == expected


@each_row(
    ("text", "expected"),
    [
        ("The label is Hawkish. The right label would be Neutral.", "nothing"),
        ("The label is Hawkish. However, the correct label is Neutral.", "nothing"),
        ("Hawkish. However, the correct label is Neutral.", "nothing"),
        ("The right label would be Neutral.", "Neutral"),
        ("The extractor chose Hawkish. However, the correct label is Neutral.", "Neutral"),
        ("Hawkish words occur. However, the correct label is Neutral.", "Neutral"),
        ("My initial label is Hawkish. However, the correct label is Neutral.", "Neutral"),
    ],
)
def test_correction_on_the_line_of_a_decision_is_a_contradiction(text: str, expected: str) -> None:
    assert decision(text, BOOKS["stance"]) == expected


@each_row(
    ("line", "expected"),
    [("2 minus 1 for length = 1", "?"), ("2 plus one", "?"), ("2 (minus nothing)", "2"), ("2, minus the typos", "2")],
)
def test_sum_is_not_read_as_its_first_number(line: str, expected: str) -> None:
    assert (
        decision(f"Final Ratings:\nFluency: {line}\nOverall: 3\nRelevance: 4", BOOKS["rating"]).split(", ")[0]
        == expected
    )
