import type { VNode } from 'preact';
import { encodeQR } from 'qr';
import { ConfirmField, CopyField, Field, Hidden, Layout, Masthead } from '../layout/index.js';
import type { Overview } from './account-overview.js';

/** The changes that the forms of the section make. */
export type FactorChange = 'set-up' | 'codes' | 'remove';

/** A form of the section that was not accepted. */
export interface RejectedFactorChange {
  readonly change: FactorChange;
  /** The fault in the password. */
  readonly fault?: string | undefined;
}

interface FactorSectionProps {
  readonly overview: Overview;
  readonly csrfToken: string;
  readonly needsConfirmation: boolean;
  readonly failedFactor?: RejectedFactorChange | undefined;
}

/** The section for the second factor: set it up, renew the backup codes, turn it off. */
export function FactorSection(props: FactorSectionProps): VNode {
  const { codesLeft } = props.overview;
  return (
    <section aria-labelledby="factor">
      <h2 id="factor">Second factor</h2>
      {codesLeft === null ? (
        <>
          <p class="hint">
            Off. With it, signing in takes your password and a code from an app on your phone. Whoever learns
            the password alone stays out.
          </p>
          <Change {...props} change="set-up" summary="Set up the second factor" button="Begin" />
        </>
      ) : (
        <>
          <p>On. {codesLeft === 1 ? '1 backup code is' : `${codesLeft} backup codes are`} left.</p>
          <Change {...props} change="codes" summary="New backup codes" button="Make new codes">
            <p class="hint">The old ones stop working.</p>
          </Change>
          <Change {...props} change="remove" summary="Turn it off" button="Turn off the second factor">
            <p class="hint">Your password alone will be enough to sign in. The backup codes stop working.</p>
          </Change>
        </>
      )}
    </section>
  );
}

interface ChangeProps extends FactorSectionProps {
  readonly change: FactorChange;
  readonly summary: string;
  readonly button: string;
  readonly children?: VNode;
}

function Change({ change, summary, button, children, ...props }: ChangeProps): VNode {
  const failed = props.failedFactor?.change === change ? props.failedFactor : undefined;
  return (
    <details open={failed !== undefined}>
      <summary>{summary}</summary>
      <form method="post" action={`/account/factor/${change}`} aria-label={summary}>
        <Hidden fields={{ csrf_token: props.csrfToken }} />
        {children}
        {props.needsConfirmation && (
          <ConfirmField
            id={`factor-${change}-password`}
            hasFactor={props.overview.codesLeft !== null}
            fault={failed?.fault}
          />
        )}
        <button type="submit">{button}</button>
      </form>
    </details>
  );
}

interface SetUpProps {
  readonly host: string;
  readonly csrfToken: string;
  /** The `otpauth:` address of the new secret. */
  readonly uri: string;
  /** The fault in the entered code. */
  readonly fault?: string | undefined;
  readonly alert?: string | undefined;
}

/** Shows the new secret and asks for a first code, which proves that the app has it. */
export function factorSetUpPage({ host, csrfToken, uri, fault, alert }: SetUpProps): VNode {
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  return (
    <Layout title="Set up the second factor">
      <Masthead host={host} />
      <h1>Set up the second factor</h1>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      <p>Scan this with an authenticator app on your phone.</p>
      <QrCode text={uri} />
      <div class="field">
        <label for="secret">Can you not scan it? Enter this key in the app.</label>
        <CopyField id="secret" value={secret} describedBy="secret-hint" />
        <p class="hint" id="secret-hint">
          It makes your codes. Give it to nobody.
        </p>
      </div>
      <form method="post" action="/account/factor/confirm" aria-label="Confirm the second factor">
        <Hidden fields={{ csrf_token: csrfToken, uri }} />
        <Field
          id="factor-code"
          name="code"
          label="Code that the app shows"
          type="text"
          inputMode="numeric"
          autocomplete="one-time-code"
          fault={fault}
          isFocused
        />
        <button type="submit">Turn on the second factor</button>
      </form>
      <p>
        <a href="/account">Cancel</a>
      </p>
    </Layout>
  );
}

/** Shows the backup codes, which are stored only as hashes. */
export function backupCodesPage({ host, codes }: { host: string; codes: readonly string[] }): VNode {
  return (
    <Layout title="Your backup codes">
      <Masthead host={host} />
      <h1>Your backup codes</h1>
      <p class="notice" role="status">
        The second factor is on. Save these ten codes now: they are not shown again.
      </p>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code} class="code">
            {code}
          </li>
        ))}
      </ul>
      <p>
        Each works once, in place of a code from the app, for example when your phone is lost. Keep them on
        paper or in a password manager, not on the phone.
      </p>
      <a class="button" href="/account">
        I have saved them
      </a>
    </Layout>
  );
}

/** The quiet zone of a QR code, in modules. */
const QUIET = 4;

/** Drawn as one path: the pages' Content-Security-Policy allows neither inline styles nor images from data. */
function QrCode({ text }: { readonly text: string }): VNode {
  const rows = encodeQR(text, 'raw', { border: QUIET });
  const path = rows
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('');
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${rows.length} ${rows.length}`}
      role="img"
      aria-label="QR code of the key below"
    >
      <rect width="100%" height="100%" fill="#fff" />
      <path d={path} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
}
