//! The view layer, in a real browser

use crate::support::{Browser, Server};

/// Runs a script that may use the view layer and an empty element `box`. It fails by throwing.
async fn check(script: &str) {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    browser.open(&format!("{}/board", server.url)).await;
    let script = format!(
        "const version = document.querySelector('meta[name=chorus-assets]').content;
         const {{ h, render, flush }} = await import(`/assets/${{version}}/lib/view.js`);
         const {{ markdown }} = await import(`/assets/${{version}}/lib/markdown.js`);
         const box = document.createElement('div');
         document.body.append(box);
         const same = (found, expected) => {{
             if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${{JSON.stringify(found)}} is not ${{JSON.stringify(expected)}}`);
         }};
         const fails = (f) => {{ try {{ f(); }} catch {{ return; }} throw new Error('nothing failed'); }};
         {script}"
    );
    browser.run_async(&script).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_never_become_elements() {
    check(
        "render(h('p', { title: '\"><img>' }, '<img src=x onerror=alert(1)>', ['<b>', 1, null, false, true]), box);
         same(box.textContent, '<img src=x onerror=alert(1)><b>1');
         same(box.querySelectorAll('*').length, 1);
         for (const name of ['inner' + 'HTML', 'OUTER' + 'html', 'srcdoc', 'style']) fails(() => render(h('i', { [name]: 'x' }), document.createElement('div')));
         fails(() => render(h('i', { onclick: 'alert(1)' }), document.createElement('div')));
         for (const href of ['javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', '//evil', 'vbscript:x', 'JaVaScRiPt:x']) {
             render(h('a', { href }), box);
             same([href, box.firstChild.getAttribute('href')], [href, null]);
         }
         render(h('a', { href: '/board' }), box);
         same(box.firstChild.getAttribute('href'), '/board');",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keyed_children_keep_their_elements_in_any_order() {
    check(
        "const list = (keys) => render(h('ul', null, keys.map((key) => h('li', { key }, key))), box);
         let seed = 7;
         const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
         list(['a']);
         let known = new Map([['a', box.firstChild.firstChild]]);
         for (let round = 0; round < 300; round += 1) {
             const keys = [];
             for (const key of 'abcdefghijkl') if (random(2)) keys.splice(random(keys.length + 1), 0, key);
             list(keys);
             const elements = [...box.firstChild.children];
             same(elements.map((el) => el.textContent), keys);
             for (const el of elements) if (known.has(el.textContent) && known.get(el.textContent) !== el) throw new Error(`${el.textContent} is another element`);
             known = new Map(elements.map((el) => [el.textContent, el]));
         }",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_leaves_the_focus_and_the_elements_that_need_not_move() {
    check(
        "const list = (keys) => render(h('div', null, keys.map((key) => h('input', { key, name: key }))), box);
         list(['a', 'b', 'c', 'd']);
         box.querySelector('[name=c]').focus();
         let changes = 0;
         const observer = new MutationObserver(() => {});
         observer.observe(box.firstChild, { childList: true });
         list(['d', 'a', 'b', 'c']);
         changes = observer.takeRecords().length;
         same(document.activeElement.name, 'c');
         same(changes <= 2, true);",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_keeps_its_state_and_ends_with_its_element() {
    check(
        "let log = [];
         const source = { listeners: new Set(), subscribe(f) { this.listeners.add(f); return () => this.listeners.delete(f); } };
         function Counter(self) {
             let count = 0;
             self.use(source);
             self.onMount((el) => { log.push(`mounted ${el.tagName}`); return () => log.push('cleaned'); });
             self.onUnmount(() => log.push('gone'));
             return ({ label }) => h('button', { onclick: () => { count += 1; self.update(); } }, `${label} ${count}`);
         }
         const show = (label, tag) => render(h('div', null, h(Counter, { label }), tag), box);
         show('a');
         box.querySelector('button').click();
         flush();
         same(box.textContent, 'a 1');
         show('b', 'more');
         same(box.textContent, 'b 1more');
         same(source.listeners.size, 1);
         render(h('div', null, null, 'more'), box);
         same(log, ['mounted BUTTON', 'gone', 'cleaned']);
         same(source.listeners.size, 0);",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_fails_leaves_the_rest_of_the_page() {
    check(
        "let isBroken = true;
         function Broken() { return () => { if (isBroken) throw new Error('no data'); return h('p', null, 'well'); }; }
         const show = () => render(h('div', null, h(Broken, { at: Math.random() }), h('p', null, 'the rest')), box);
         show();
         same(box.textContent, 'This part of the page has failed: no datathe rest');
         same(box.querySelector('[role=alert]') !== null, true);
         isBroken = false;
         show();
         same(box.textContent, 'wellthe rest');",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_and_events_follow_the_newest_description() {
    check(
        "let heard = [];
         const show = (value, name) => render(h('label', null, h('input', { value, disabled: name === 'off', oninput: name ? () => heard.push(name) : false }),
             h('select', { value }, ['x', 'y'].map((one) => h('option', { key: one, value: one }, one)))), box);
         show('x', 'one');
         const input = box.querySelector('input');
         input.dispatchEvent(new Event('input'));
         show('y', 'two');
         input.dispatchEvent(new Event('input'));
         show('y', null);
         input.dispatchEvent(new Event('input'));
         same(heard, ['one', 'two']);
         same([input.value, box.querySelector('select').value], ['y', 'y']);
         input.value = 'typed';
         show('y', 'off');
         same([input.value, input.disabled], ['y', true]);
         render(h('svg', { viewBox: '0 0 1 1' }, h('path', { d: 'M0 0' })), box);
         same(box.querySelector('path') instanceof SVGPathElement, true);",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn markdown_becomes_elements_and_hostile_markdown_text() {
    check(
        "const show = (text) => { render(markdown(text), box); return box.firstChild; };
         same(show('# One\\n\\ntext **bold** _it_ `code`\\n\\n- a\\n- b\\n  - c\\n\\n1. x\\n2. y').querySelectorAll('h3, strong, em, code, ul, ol, li').length, 12);
         same(show('```js\\n<b>not bold</b>\\n```').querySelector('pre code').textContent, '<b>not bold</b>');
         same(show('| a | b |\\n|---|---|\\n| 1 | 2 |').querySelectorAll('th, td').length, 4);
         same(show('> quoted').querySelector('blockquote p').textContent, 'quoted');
         same(show('[there](https://example.org/x)').querySelector('a').href, 'https://example.org/x');
         for (const hostile of ['[x](javascript:alert(1))', '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '[x](data:text/html,y)', '![x](http://evil/y.png)', '<a href=javascript:x>y</a>']) {
             const shown = show(hostile);
             same([hostile, shown.querySelectorAll('script, img, iframe, a[href^=javascript], a[href^=data]').length], [hostile, 0]);
         }
         // No text may stall the page.
         const began = performance.now();
         for (const text of ['*'.repeat(50000), '['.repeat(50000), '`'.repeat(50001), '> '.repeat(20000), '- '.repeat(20000), '|'.repeat(50000), '_a'.repeat(30000), '**a'.repeat(20000)]) show(text);
         if (performance.now() - began > 20000) throw new Error(`${performance.now() - began} ms`);",
    )
    .await;
}
