import type { VNode } from 'preact';
import type { SingleSignOnRefusal } from '../../domain/auth/index.js';
import { CodeStep, Layout, Masthead } from '../layout/index.js';

interface LeavingPageProps {
  readonly host: string;
  /** The provider's name. */
  readonly name: string;
  readonly address: string;
}

/** Shown for the moment until the browser has followed its Refresh header. */
export function leavingPage({ host, name, address }: LeavingPageProps): VNode {
  return (
    <Layout title={`Continue with ${name}`}>
      <Masthead host={host} />
      <h1>
        Continue with <span class="name">{name}</span>
      </h1>
      <p>
        You sign in at <span class="name">{new URL(address).host}</span>, and come back here afterwards.
      </p>
      <a class="button" href={address} rel="noreferrer">
        Go to {name}
      </a>
    </Layout>
  );
}

interface CodePageProps {
  readonly host: string;
  /** The page on which the sign-in began: its form takes the code. */
  readonly returnTo: URL;
  readonly csrfToken: string;
}

/** The second step: the provider has identified the person, and the account has a second factor. */
export function codePage({ host, returnTo, csrfToken }: CodePageProps): VNode {
  const { pathname: action, searchParams } = returnTo;
  const hidden = { ...Object.fromEntries(searchParams), csrf_token: csrfToken };
  return (
    <Layout title="Enter the code">
      <Masthead host={host} />
      <h1>Enter the code</h1>
      <CodeStep {...{ action, hidden }} step={{ kind: 'totp' }} isAfterPassword={false} />
      <p class="warning">If you did not just start this sign-in yourself, close this page.</p>
    </Layout>
  );
}

interface RefusedPageProps {
  readonly host: string;
  readonly name: string;
  readonly refusal: SingleSignOnRefusal;
  /** The page on which the sign-in began. */
  readonly returnTo: string;
}

/** What happened, and what the person can do about it. */
export function refusedPage({ host, name, refusal, returnTo }: RefusedPageProps): VNode {
  const { heading, advice } = textOf(refusal, name);
  return (
    <Layout title={heading}>
      <Masthead host={host} />
      <h1>{heading}</h1>
      <p role="alert">{advice}</p>
      <a class="button" href={returnTo}>
        Start again
      </a>
    </Layout>
  );
}

interface Text {
  readonly heading: string;
  readonly advice: string;
}

function textOf(refusal: SingleSignOnRefusal, name: string): Text {
  const texts: Readonly<Record<SingleSignOnRefusal, Text>> = {
    'out-of-date': {
      heading: 'This sign-in is over',
      advice: 'It took too long, was used before, or began in another browser. Start again in this one.',
    },
    declined: {
      heading: 'You were not signed in',
      advice: `${name} has not confirmed the sign-in. If you did not cancel it, ask whoever runs ${name} for access.`,
    },
    'bad-answer': {
      heading: 'You were not signed in',
      advice: `The answer of ${name} could not be verified. Start again; if it happens again, tell whoever runs this service.`,
    },
    'no-address': {
      heading: 'Your email address is missing',
      advice: `${name} gives this service no email address that it can use. Enter one in your account at ${name}, then start again.`,
    },
    'unverified-address': {
      heading: 'Your email address is not verified',
      advice: `${name} does not say that your email address is yours. Verify it in your account at ${name}, or ask whoever runs ${name} to do so, then start again.`,
    },
    'no-account': {
      heading: 'There is no account for you yet',
      advice:
        'Sign-up is closed here. Ask whoever runs this service for an account with the same email address.',
    },
    'other-person': {
      heading: 'This account belongs to another sign-in',
      advice: `The account with your email address is already connected to another person at ${name}. Ask whoever runs this service to disconnect it.`,
    },
  };
  return texts[refusal];
}
