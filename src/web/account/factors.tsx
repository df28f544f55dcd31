import type { VNode } from 'preact';
import { encodeQR } from 'qr';
import { CopyField, Field, Messages, PostForm, SitePage } from '../layout/index.js';
import { type AccountPageProps, Confirmation, FoldedForm, formAt } from './account-form.js';

/** The second factor: set it up, renew the backup codes, turn it off. */
export function SecondFactor(props: AccountPageProps): VNode {
  const { codesLeft } = props.overview;
  return (
    <>
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
    </>
  );
}

interface ChangeProps extends AccountPageProps {
  readonly change: 'set-up' | 'codes' | 'remove';
  readonly summary: string;
  readonly button: string;
  readonly children?: VNode;
}

function Change({ change, summary, button, children, ...props }: ChangeProps): VNode {
  const form = formAt(props, `/account/factor/${change}`);
  return (
    <FoldedForm {...form} summary={summary}>
      {children}
      <Confirmation
        {...form}
        id={`factor-${change}-password`}
        hasFactor={props.overview.codesLeft !== null}
      />
      <button type="submit">{button}</button>
    </FoldedForm>
  );
}

interface SetUpProps {
  readonly host: string;
  readonly csrfToken: string;
  /** The `otpauth:` address of the new secret. */
  readonly uri: string;
  readonly fault?: string | undefined;
  readonly alert?: string | undefined;
}

/** Shows the new secret and asks for a first code, which proves that the app has it. */
export function factorSetUpPage({ host, csrfToken, uri, fault, alert }: SetUpProps): VNode {
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  return (
    <SitePage title="Set up the second factor" host={host}>
      <Messages alert={alert} />
      <p>Scan this with an authenticator app on your phone.</p>
      <QrCode text={uri} />
      <div class="field">
        <label for="secret">Can you not scan it? Enter this key in the app.</label>
        <CopyField id="secret" value={secret} describedBy="secret-hint" />
        <p class="hint" id="secret-hint">
          It makes your codes. Give it to nobody.
        </p>
      </div>
      <PostForm
        action="/account/factor/confirm"
        csrfToken={csrfToken}
        fields={{ uri }}
        label="Confirm the second factor"
      >
        <Field
          id="factor-code"
          name="code"
          label="Code that the app shows"
          inputMode="numeric"
          autocomplete="one-time-code"
          fault={fault}
          isFocused
        />
        <button type="submit">Turn on the second factor</button>
      </PostForm>
      <p>
        <a href="/account">Cancel</a>
      </p>
    </SitePage>
  );
}

/** Shows the backup codes, which are stored only as hashes. */
export function backupCodesPage({ host, codes }: { host: string; codes: readonly string[] }): VNode {
  return (
    <SitePage title="Your backup codes" host={host}>
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
    </SitePage>
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
