import type { VNode } from 'preact';
import { Layout, Masthead } from './layout.js';

interface Failure {
  readonly host: string;
  readonly status: number;
  readonly detail: string;
  readonly requestId: string;
}

const HEADINGS: Readonly<Record<number, string>> = {
  400: 'This link does not work',
  403: 'This request was refused',
  404: 'Page not found',
  413: 'The request is too large',
  429: 'Too many requests',
  503: 'Temporarily unavailable',
};

const ADVICE: Readonly<Record<number, string>> = {
  400: 'Go back to the app or the website that sent you here and start again from there.',
  403: 'Go back, reload the page and try again.',
  404: 'The address may be misspelt, or the page no longer exists.',
  429: 'Wait a minute, then try again.',
  503: 'Try again in a moment.',
};

/** An error page for people; the request's id is for the operator. */
export function errorPage({ host, status, detail, requestId }: Failure): VNode {
  const heading = HEADINGS[status] ?? (status < 500 ? 'The request failed' : 'Something went wrong');
  return (
    <Layout title={heading}>
      <Masthead host={host} />
      <h1>{heading}</h1>
      <p>{ADVICE[status] ?? (status < 500 ? 'Go back and start again.' : 'Try again later.')}</p>
      {status === 404 && (
        <p>
          <a href="/">About this service</a> · <a href="/account">Your account</a>
        </p>
      )}
      <p class="hint">
        {status}: {detail}.
        <br />
        Request {requestId}
      </p>
    </Layout>
  );
}
