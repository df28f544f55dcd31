import { Controller, type Type, UseFilters } from '@nestjs/common';
import { Public } from '../../access/index.js';
import { Documented, type OperationDocs, page } from '../../platform/api-docs/index.js';
import { PageErrorFilter } from './error-page.js';

/**
 * A controller of pages for browsers, whose errors are pages too. The guards let everybody in.
 * @param operations the documentation of its handlers, by their names
 * @param reason why the guards may do so
 */
export function PublicPages<Name extends string>(
  path: string,
  operations: Readonly<Record<Name, OperationDocs>>,
  reason = 'the page has its own session, cookie, origin and form checks',
  errorFilter: Type<PageErrorFilter> = PageErrorFilter,
) {
  return (controller: abstract new (...args: never[]) => Record<Name, unknown>): void => {
    Documented({ tag: 'Pages', isPage: true, operations })(controller);
    for (const decorate of [Controller(path), Public(reason), UseFilters(errorFilter)]) decorate(controller);
  };
}

const FORM = {
  type: 'application/x-www-form-urlencoded',
  description: 'A form of this page, with the token that binds it to this browser.',
} as const;

export const SUSPENDED = 'the account of this browser is suspended';
const WITH_FAULTS = page('the page again, with the errors');

export const REFUSED = {
  400: 'the form is invalid',
  403: 'the form is not from this page or not from this browser, sign-up is closed, or the account is suspended',
  413: 'the form is too large',
  415: 'the body is not a form',
};

export const ANSWERED = { ...REFUSED, 422: WITH_FAULTS };

export const ONWARDS = {
  description: 'a redirect',
  headers: { Location: 'The URL of the next page.', 'Set-Cookie': 'The session cookie, if it has changed.' },
} as const;

/** The documentation of a handler that receives a form. */
export const formDocs = (
  summary: string,
  answers: OperationDocs['answers'],
  description?: string,
): OperationDocs => ({ summary, ...(description && { description }), body: FORM, answers });
