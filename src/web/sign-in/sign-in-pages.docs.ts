import { page, type Parameters } from '../../platform/api-docs/index.js';
import { ANSWERED, FORM, ONWARDS, REFUSED, SUSPENDED } from '../layout/index.js';

const STATE = {
  client_state: {
    description:
      'A random value from the client: 16 to 512 characters of `A-Z a-z 0-9 _ -`. It is returned with the token.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{16,512}$' },
    isRequired: true,
  },
} as const satisfies Parameters;

const BAD_LINK = 'the link is invalid';

export const DESKTOP_HANDOFF_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    ask: {
      summary: 'Show the sign-in page for the desktop app',
      description: 'The page signs the user in and returns to the app with a one-time token.',
      query: {
        ...STATE,
        scheme: {
          description: 'The URL scheme of the app, if it is not the default one: `APP_SCHEME-APP_NAME`.',
        },
      },
      answers: { 200: page('the page'), 400: BAD_LINK, 403: SUSPENDED },
    },
    answer: {
      summary: 'Submit the sign-in form for the desktop app',
      body: FORM,
      answers: {
        200: page(
          'a page with a link to the app: `<scheme>://auth/callback?token=…&client_state=…`; or the page asks for a code of the second factor',
        ),
        ...ANSWERED,
      },
    },
  },
} as const;

export const WEB_HANDOFF_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    ask: {
      summary: 'Show the sign-in page for a web editor',
      query: {
        ...STATE,
        return_to: { description: 'One of the configured callbacks, compared exactly.', isRequired: true },
      },
      answers: { 200: page('the page'), 400: BAD_LINK, 403: SUSPENDED },
    },
    answer: {
      summary: 'Submit the sign-in form for a web editor',
      body: FORM,
      answers: {
        200: page('the page asks for a code of the second factor'),
        303: { ...ONWARDS, description: 'a redirect to `return_to?token=…&client_state=…`' },
        ...ANSWERED,
      },
    },
  },
} as const;

const OFF = 'no OpenID Connect provider is configured';
const AWAY = 'the provider cannot be reached; a page';

export const SINGLE_SIGN_ON_DOCS = {
  tag: 'Pages',
  isPage: true,
  operations: {
    begin: {
      summary: 'Begin a sign-in through the OpenID Connect provider',
      body: FORM,
      answers: {
        200: page('a page that leads to the provider'),
        ...REFUSED,
        404: OFF,
        503: AWAY,
      },
    },
    finish: {
      summary: 'Sign in with the answer of the OpenID Connect provider',
      description:
        'The redirect URI that is registered at the provider. Only the browser that began the sign-in can use it, once.',
      query: {
        state: { description: 'The value that this service sent to the provider.' },
        code: { description: 'The authorization code.' },
        error: { description: 'The error code of the provider, instead of `code`.' },
        iss: { description: 'The issuer of the answer (RFC 9207). It must be `OIDC_ISSUER`.' },
      },
      answers: {
        200: page('the page asks for a code of the second factor'),
        303: { ...ONWARDS, description: 'a redirect to the page on which the sign-in began' },
        400: 'a parameter occurs more than once',
        403: 'nobody was signed in; the page says why and what to do, or the account is suspended',
        404: OFF,
        503: AWAY,
      },
    },
  },
} as const;
