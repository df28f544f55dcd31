import type { InputHTMLAttributes, VNode } from 'preact';

interface FieldProps {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'email' | 'password';
  readonly autocomplete: string;
  readonly value?: string;
  readonly hint?: string;
  /** What is wrong with what was entered. */
  readonly fault?: string | undefined;
  readonly minLength?: number | undefined;
  readonly isFocused?: boolean;
}

/** A text field with its label; its fault and its hint are read out with it. */
export function Field({ id, label, hint, fault, isFocused, value, ...input }: FieldProps): VNode {
  const described = [fault && `${id}-fault`, hint && `${id}-hint`].filter(Boolean).join(' ');
  const attributes = input as InputHTMLAttributes; // of which each has one type only
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...attributes}
        id={id}
        value={value ?? ''}
        required
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

/** A choice of one. */
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
  /** The id of its hint. */
  readonly describedBy?: string;
}

/** A text to take along. The script shows the button, and what is beneath when the browser refuses to copy. */
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
        Your browser did not copy it. It is selected: copy it by hand.
      </p>
    </>
  );
}

/** What a form carries along unseen. */
export function Hidden({ fields }: { readonly fields: Readonly<Record<string, string>> }): VNode {
  return (
    <>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" key={name} name={name} value={value} />
      ))}
    </>
  );
}
