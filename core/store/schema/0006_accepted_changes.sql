-- Changes of labels that were accepted from suggestions were called lessons.
UPDATE settings SET name = 'accepted changes', value = regexp_replace(value, '^\{\s*"lessons"', '{"changes"')
WHERE name = 'accepted lessons';
UPDATE trials SET subject = 'accepted changes', before = 'the codebook without the accepted changes',
    after = 'the codebook with the accepted changes'
WHERE subject = 'lessons';
