import { DenseSet } from '../../../src/platform/async.js';

interface Guest {
  readonly name: string;
}

describe('DenseSet', () => {
  const guests = (...names: string[]): Guest[] => names.map((name) => ({ name }));
  const names = (roster: DenseSet<Guest>): string[] => [...roster].map(({ name }) => name).sort();
  let roster: DenseSet<Guest>;

  beforeEach(() => (roster = new DenseSet()));

  it('holds each element once that was added and not deleted', () => {
    const [a, b, c] = guests('a', 'b', 'c') as [Guest, Guest, Guest];
    for (const one of [a, b, c, b]) roster.add(one);
    expect(names(roster)).toEqual(['a', 'b', 'c']);
    roster.delete(a);
    roster.delete(a);
    expect(names(roster)).toEqual(['b', 'c']);
    expect([a, b, c].map((one) => roster.has(one))).toEqual([false, true, true]);
    roster.add(a);
    roster.delete(c);
    roster.delete(b);
    expect([names(roster), roster.size]).toEqual([['a'], 1]);
  });

  it('ignores the deletion of an element of another set', () => {
    const [a, b] = guests('a', 'b') as [Guest, Guest];
    roster.add(a);
    new DenseSet<Guest>().add(b);
    expect(roster.has(b)).toBe(false);
    roster.delete(b);
    expect(names(roster)).toEqual(['a']);
  });

  it('visits every element even when each is deleted during its visit', () => {
    const all = guests('a', 'b', 'c', 'd');
    for (const one of all) roster.add(one);
    const met: string[] = [];
    for (const one of roster) {
      met.push(one.name);
      roster.delete(one);
    }
    expect(met.sort()).toEqual(['a', 'b', 'c', 'd']);
    expect(roster.size).toBe(0);
  });

  it('equals a Set after a thousand additions and deletions', () => {
    const all = guests('a', 'b', 'c', 'd', 'e');
    const set = new Set<Guest>();
    let state = 1;
    for (let step = 0; step < 1_000; step++) {
      state = (state * 48_271) % 2_147_483_647;
      const one = all[state % all.length] as Guest;
      for (const some of [roster, set]) some[state % 7 < 4 ? 'add' : 'delete'](one);
      expect([roster.size, names(roster)]).toEqual([set.size, [...set].map(({ name }) => name).sort()]);
    }
  });
});
