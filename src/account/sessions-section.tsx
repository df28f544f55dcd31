import type { VNode } from 'preact';
import { MOST_LISTED } from '../auth/index.js';
import { Time } from '../pages/index.js';
import type { Overview } from './account-overview.js';
import { ActionForm } from './action-form.js';

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|HeadlessChrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad|iPod)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const HANDED_OVER = /^(\S+) \(signed in with /;
const LONGEST = 60;

/** A short description of a session's User-Agent. Only a hint: a client can send any text. */
function clientName(userAgent: string): string {
  const app = HANDED_OVER.exec(userAgent)?.[1];
  const browser = named(BROWSERS, userAgent);
  const system = named(SYSTEMS, userAgent);
  const client = [browser, system].filter(Boolean).join(' on ');
  if (app !== undefined) return client ? `${app}, signed in with ${client}` : app;
  return client || userAgent.slice(0, LONGEST) || 'Unknown client';
}

function named(names: readonly (readonly [RegExp, string])[], userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1];
}

interface SessionsProps {
  readonly overview: Overview;
  readonly csrfToken: string;
  /** The session that requests the page. */
  readonly currentId: string;
}

/** A new session is updated shortly after its creation; a longer difference means that it was used. */
const A_MOMENT_MS = 60_000;

export function SessionsSection({ overview, csrfToken, currentId }: SessionsProps): VNode {
  const { sessions } = overview;
  return (
    <section aria-labelledby="sessions">
      <div class="heading">
        <h2 id="sessions">Sessions</h2>
        {sessions.length > 1 && (
          <ActionForm action="/account/sessions/end-others" csrfToken={csrfToken}>
            <button type="submit" class="quiet">
              Sign out everywhere else
            </button>
          </ActionForm>
        )}
      </div>
      {sessions.length === MOST_LISTED && (
        <p class="hint">Showing the newest {MOST_LISTED}. There may be more.</p>
      )}
      <ul class="things">
        {sessions.map(({ id, userAgent, ip, createdAt, updatedAt }) => (
          <li key={id}>
            <div>
              <p>
                {clientName(userAgent)} {id === currentId && <span class="badge">This browser</span>}
              </p>
              <p class="hint">
                Since <Time at={createdAt} />
                {updatedAt.getTime() > createdAt.getTime() + A_MOMENT_MS && (
                  <>
                    , active <Time at={updatedAt} />
                  </>
                )}
                {ip && `, ${ip}`}
              </p>
            </div>
            {id !== currentId && (
              <ActionForm action="/account/sessions/end" {...{ csrfToken, id }}>
                <button type="submit" class="quiet" aria-label={`Sign out ${clientName(userAgent)}`}>
                  Sign out
                </button>
              </ActionForm>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
