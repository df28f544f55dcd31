import { BadRequest } from './api-errors.js';

const STRICT = Symbol('strict body');

/**
 * Marks a class of bodies whose unknown members are refused, by name, instead of dropped: for bodies in which a misspelt member
 * would grant more than was meant, or would remove a condition. Subclasses are strict too.
 */
export const StrictBody = (): ClassDecorator => (target) => Reflect.defineMetadata(STRICT, true, target);

export const isStrictBody = (bodyClass: object): boolean => Reflect.getMetadata(STRICT, bodyClass) === true;

/** A name may be as long as a body. */
const SHOWN_CHARACTERS = 64;

/** The error for a member that a body must not have. */
export const unknownMember = (name: string): BadRequest =>
  new BadRequest(`unknown member ${JSON.stringify(name.slice(0, SHOWN_CHARACTERS))}`);

/** For bodies without a class. @throws BadRequest */
export function refuseUnknownMembers(given: Iterable<string>, known: readonly string[]): void {
  for (const name of given) if (!known.includes(name)) throw unknownMember(name);
}
