import type { InputHTMLAttributes, VNode } from 'preact';
import { PASSWORD_LENGTH } from '../../domain/auth/index.js';

interface FieldProps {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'email' | 'password';
  readonly autocomplete: string;
  readonly value?: string;
  readonly hint?: string;
  /** The fault in the entered value. */
  readonly fault?: string | undefined;
  readonly minLength?: number | undefined;
  readonly inputMode?: 'numeric';
  readonly isFocused?: boolean;
  /** Defaults to true. */
  readonly isRequired?: boolean;
}

/** A text field with its label; screen readers read its fault and its hint with it. */
export function Field(props: FieldProps): VNode {
  const { id, label, hint, fault, isFocused, isRequired = true, value, ...input } = props;
  const described = [fault && `${id}-fault`, hint && `${id}-hint`].filter(Boolean).join(' ');
  const attributes = input as InputHTMLAttributes; // a union whose members each allow one `type`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...attributes}
        id={id}
        value={value ?? ''}
        required={isRequired}
        spellcheck={false}
        autocapitalize={input.type === 'text' ? 'words' : 'none'}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={described || undefined}
        autofocus={isFocused === true}
      />
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface SelectFieldProps {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  readonly value: string;
  readonly fault?: string | undefined;
}

export function SelectField({ id, name, label, options, value, fault }: SelectFieldProps): VNode {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        {...{ id, name }}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={fault && `${id}-fault`}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.text}
          </option>
        ))}
      </select>
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

interface CopyFieldProps {
  readonly id: string;
  readonly value: string;
  /** The id of the field's hint. */
  readonly describedBy?: string;
}

/** A text to copy. The script shows the button, and the message below it if the browser refuses to copy. */
export function CopyField({ id, value, describedBy }: CopyFieldProps): VNode {
  return (
    <>
      <div class="copy">
        <input id={id} class="code" value={value} readonly aria-describedby={describedBy} />
        <button type="button" class="quiet" data-copy={id} hidden>
          Copy
        </button>
      </div>
      <p class="fault" id={`${id}-fault`} role="alert" hidden>
        Your browser could not copy the text. It is selected: copy it yourself.
      </p>
    </>
  );
}

export function Hidden({ fields }: { readonly fields: Readonly<Record<string, string>> }): VNode {
  return (
    <>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" key={name} name={name} value={value} />
      ))}
    </>
  );
}

interface ConfirmFieldProps {
  /** Distinguishes the fields of several forms on a page. */
  readonly id: string;
  /** When the password is needed, if the form does not always need it. */
  readonly hint?: string;
  readonly fault?: string | undefined;
  /** Whether a code of the second factor is accepted as well. */
  readonly hasFactor?: boolean;
}

/** The current password, in a form whose effect cannot be undone or outlives the session. `Confirmations` checks it. */
export function ConfirmField({ id, hint, fault, hasFactor = false }: ConfirmFieldProps): VNode {
  return (
    <Field
      id={id}
      name="confirm_password"
      label={hasFactor ? 'Your password, or a code from your authenticator app' : 'Your password'}
      type="password"
      autocomplete="current-password"
      isRequired={hint === undefined}
      {...(hint === undefined ? {} : { hint })}
      fault={fault}
      isFocused={fault !== undefined}
    />
  );
}

interface NewPasswordFieldProps {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly fault?: string | undefined;
  readonly isFocused?: boolean;
}

/** A field for a password that is chosen, with the policy as its hint. */
export function NewPasswordField(props: NewPasswordFieldProps): VNode {
  const { min } = PASSWORD_LENGTH;
  return (
    <Field
      {...props}
      type="password"
      autocomplete="new-password"
      hint={`At least ${min} characters, and not a common password.`}
      minLength={min}
    />
  );
}

/** The choice to end the access tokens together with the old password. */
export function RevokeTokensChoice({ isChosen = false }: { readonly isChosen?: boolean }): VNode {
  return (
    <label class="choice">
      <input type="checkbox" name="revoke_tokens" value="yes" checked={isChosen} />
      <span>
        Also revoke all access tokens <span class="hint">if somebody else may have used your account</span>
      </span>
    </label>
  );
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A human-readable size, for example `1.5 MiB`. */
export function inBytes(bytes: number): string {
  const power = Math.min(bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  const amount = bytes / 1024 ** power;
  return `${amount.toFixed(power === 0 || Number.isInteger(amount) ? 0 : 1)} ${UNITS[power] ?? ''}`;
}
