import fc from 'fast-check';
import { isUtf8 } from 'node:buffer';
import { Utf8Check } from '../../../src/domain/automation/contents.js';

/** Texts, some of which have up to two bytes changed. */
const bytes = fc
  .tuple(fc.string({ unit: 'binary' }), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 }))
  .map(([text, changes]) => {
    const all = Buffer.from(text);
    for (const [at, byte] of changes) if (all.length > 0) all[at % all.length] = byte;
    return all;
  });

it('the UTF-8 check of a text in pieces agrees with that of the whole, wherever it is cut', () => {
  fc.assert(
    fc.property(bytes, fc.array(fc.nat()), (whole, cuts) => {
      const check = new Utf8Check();
      const ends = [...cuts.map((cut) => cut % (whole.length + 1)), whole.length].sort((a, b) => a - b);
      let at = 0;
      for (const end of ends) {
        check.add(Buffer.from(whole.subarray(at, end)));
        at = end;
      }
      expect(check.isText()).toBe(isUtf8(whole));
    }),
    { numRuns: 2_000 },
  );
});
