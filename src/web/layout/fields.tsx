import type { ComponentChildren, InputHTMLAttributes, VNode } from 'preact';
import { PASSWORD_LENGTH } from '../../domain/auth/index.js';

/** What is wrong with a form, by the name of the field. */
export type Faults = Readonly<Record<string, string | undefined>>;

/** The fault in the name of anything. */
export const NAME_FAULT = 'Enter a name of 1 to 255 characters.';

interface FieldProps {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  /** Defaults to `text`. */
  readonly type?: 'text' | 'email' | 'password';
  /** Defaults to `off`. */
  readonly autocomplete?: string;
  readonly value?: string | undefined;
  readonly hint?: string | undefined;
  /** The fault in the entered value. */
  readonly fault?: string | undefined;
  readonly minLength?: number | undefined;
  readonly inputMode?: 'numeric';
  /** By default, a field with a fault gets the focus. */
  readonly isFocused?: boolean | undefined;
  /** Defaults to true. */
  readonly isRequired?: boolean;
}

/** A text field with its label; screen readers read its fault and its hint with it. */
export function Field(props: FieldProps): VNode {
  const { id, label, hint, fault, value = '', isFocused, isRequired = true, ...others } = props;
  const described = [fault && `${id}-fault`, hint && `${id}-hint`].filter(Boolean).join(' ');
  const input = { type: 'text', autocomplete: 'off', ...others };
  const attributes = input as InputHTMLAttributes; // a union whose members each allow one `type`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...attributes}
        id={id}
        value={value}
        required={isRequired}
        spellcheck={false}
        autocapitalize={input.type === 'text' ? 'words' : 'none'}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={described || undefined}
        autofocus={isFocused ?? fault !== undefined}
      />
      <Fault of={id} text={fault} />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** What is wrong with the field that has the id `of`; nothing without a text. */
export function Fault({ of, text }: { of: string; text: string | undefined }): VNode | null {
  if (!text) return null;
  return (
    <p class="fault" id={`${of}-fault`}>
      {text}
    </p>
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
      <Fault of={id} text={fault} />
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

export interface ConfirmFieldProps {
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
      {...{ hint, fault }}
    />
  );
}

type NewPasswordFieldProps = Pick<FieldProps, 'id' | 'name' | 'label' | 'fault' | 'isFocused'>;

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

interface PostFormProps {
  readonly action: string;
  readonly csrfToken: string;
  readonly label: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A form with the token that binds it to this browser. */
export function PostForm(props: PostFormProps): VNode {
  const { action, csrfToken, label, fields, children } = props;
  return (
    <form method="post" action={action} class={props.class} aria-label={label}>
      <Hidden fields={{ csrf_token: csrfToken, ...fields }} />
      {children}
    </form>
  );
}

interface MessagesProps {
  /** What concerns no single field. */
  readonly alert?: string | undefined;
  /** The message after a completed action. */
  readonly notice?: string | undefined;
}

/** What a page says about the form that it answers. */
export function Messages({ alert, notice }: MessagesProps): VNode {
  return (
    <>
      {alert && (
        <p class="alert" role="alert">
          {alert}
        </p>
      )}
      {notice && (
        <p class="notice" role="status">
          {notice}
        </p>
      )}
    </>
  );
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** A human-readable size, for example `1.5 MiB`. */
export function inBytes(bytes: number): string {
  const power = Math.min(bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  const amount = bytes / 1024 ** power;
  return `${amount.toFixed(power === 0 || Number.isInteger(amount) ? 0 : 1)} ${UNITS[power] ?? ''}`;
}
