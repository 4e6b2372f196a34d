package web_test

// contrastScript finds texts that WCAG AA calls too faint: the colour of each element with a text of its own, against
// what is painted behind it, as the browser computes them.
const contrastScript = `(() => {
  const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length === 3 ? [...m, 1] : m; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const luminance = c => {
    const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = el => {
    const layers = [];
    for (let e = el; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((b, l) => over(l, b), matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const faint = [];
  let checked = 0;
  for (const el of document.querySelectorAll('body, body *')) {
    if (el.closest('svg')) continue;
    const own = [...el.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !el.getClientRects().length) continue;
    const style = getComputedStyle(el), back = behind(el), front = over(parse(style.color), back);
    const [hi, lo] = [luminance(front), luminance(back)].sort((a, b) => b - a);
    const ratio = (hi + 0.05) / (lo + 0.05), size = parseFloat(style.fontSize);
    const large = size >= 24 || size >= 18.66 && parseInt(style.fontWeight) >= 700;
    checked++;
    if (ratio < (large ? 3 : 4.5)) faint.push(el.tagName + '.' + el.className + ' ' + ratio.toFixed(2) + ': ' + el.textContent.trim().slice(0, 40));
  }
  return { faint: faint.slice(0, 10), checked };
})()`

// contrast is what the script finds.
type contrast struct {
	Faint   []string `json:"faint"`
	Checked int      `json:"checked"`
}
