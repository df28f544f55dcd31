// Optional: without this script the index of the API pages is a plain list of links.
for (const form of document.querySelectorAll('[data-search]')) form.hidden = false;

const field = document.querySelector('[data-filter]');
if (field) {
  const found = document.querySelector('[data-found]');
  const items = [...document.querySelectorAll('[data-words]')];
  const groups = [...document.querySelectorAll('[data-group]')];

  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of items) item.hidden = !words.every((word) => item.dataset.words.includes(word));
    for (const group of groups) group.hidden = !group.querySelector('[data-words]:not([hidden])');
    const count = items.filter(({ hidden }) => !hidden).length;
    found.textContent = words.length > 0 ? `${count} of ${items.length} operations` : '';
  };

  field.form.addEventListener('submit', (event) => {
    event.preventDefault();
    document.querySelector('[data-words]:not([hidden]) a')?.focus();
  });
  field.addEventListener('input', filter);
  field.value = new URLSearchParams(location.search).get('q') ?? '';
  filter();
}
