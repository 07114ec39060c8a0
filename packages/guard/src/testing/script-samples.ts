/** Prose and data in scripts beyond English, for the estimates of tokens. Written for this purpose. */
export const SCRIPT_SAMPLES = {
  thai: `หน้าต่างบริบทของแบบจำลองมีขนาดจำกัด เมื่อตัวแทนอ่านไฟล์จำนวนมากเกินไป คุณภาพของคำตอบจะลดลงเรื่อย ๆ ดังนั้นเราจึงต้องย่อผลลัพธ์เก่าให้สั้นลงก่อนที่จะเต็ม ผู้ใช้บอกว่าห้ามลบฐานข้อมูล และต้องทดสอบทุกครั้งก่อนส่งงาน เมื่อวานนี้ฝนตกหนักมาก รถไฟจึงมาถึงช้ากว่าปกติเกือบสองชั่วโมง แต่พวกเราก็ยังไปทันการประชุมในตอนบ่าย อาหารกลางวันที่ร้านใกล้สถานีอร่อยและราคาไม่แพง
สวัสดีครับ วันนี้เราจะมาพูดถึงการใช้งานโปรแกรมคอมพิวเตอร์เพื่อช่วยในการทำงานของเราให้ดีขึ้น ทุกคนสามารถเรียนรู้ได้ง่าย ๆ และไม่ต้องเสียค่าใช้จ่ายมาก ถ้ามีคำถามสามารถถามได้ตลอดเวลา ขอบคุณมากครับ
ประเทศไทยเป็นประเทศที่ตั้งอยู่ในเอเชียตะวันออกเฉียงใต้ มีกรุงเทพมหานครเป็นเมืองหลวงและเมืองที่ใหญ่ที่สุด ประชากรส่วนใหญ่นับถือศาสนาพุทธ ภาษาราชการคือภาษาไทย
ระบบนี้ใช้สำหรับจัดการข้อมูลของผู้ใช้ทั้งหมด หากพบข้อผิดพลาดกรุณาติดต่อผู้ดูแลระบบ การบันทึกข้อมูลสำเร็จแล้ว กรุณากรอกรหัสผ่านให้ถูกต้อง ไม่พบไฟล์ที่ต้องการ`,
  arabic: `نافذة السياق محدودة الحجم، وعندما يقرأ الوكيل ملفات كثيرة تنخفض جودة الإجابات شيئا فشيئا. لذلك يجب اختصار النتائج القديمة قبل أن تمتلئ النافذة. قال المستخدم إنه لا يجوز حذف قاعدة البيانات، وإن الاختبارات يجب أن تعمل قبل كل إصدار جديد. هطل المطر أمس بغزارة فتأخر القطار قرابة ساعتين، لكننا وصلنا إلى الاجتماع بعد الظهر في الوقت المناسب. كان الطعام في المطعم القريب من المحطة لذيذا ورخيصا، وقررنا أن نعود إليه في الأسبوع القادم مع الأصدقاء.
مرحبا بكم في هذا الموقع. يمكنكم هنا العثور على معلومات حول استخدام البرنامج وكيفية تثبيته على جهاز الكمبيوتر. إذا كان لديكم أي سؤال فلا تترددوا في الاتصال بنا.
تقع المملكة العربية السعودية في شبه الجزيرة العربية، وعاصمتها الرياض، وهي أكبر دولة في الشرق الأوسط من حيث المساحة. اللغة العربية هي اللغة الرسمية.`,
  hindi: `मॉडल की संदर्भ सीमा छोटी होती है और जब एजेंट बहुत सारी फ़ाइलें पढ़ता है तो उत्तरों की गुणवत्ता धीरे धीरे गिरने लगती है। इसलिए पुराने परिणामों को समय पर छोटा करना ज़रूरी है। उपयोगकर्ता ने कहा कि डेटाबेस को कभी नहीं मिटाना चाहिए और हर नए संस्करण से पहले सभी परीक्षण चलाने चाहिए। कल बहुत तेज़ बारिश हुई, इसलिए रेलगाड़ी लगभग दो घंटे देर से आई, लेकिन हम दोपहर की बैठक में समय पर पहुँच गए। स्टेशन के पास वाले भोजनालय का खाना स्वादिष्ट और सस्ता था।
नमस्ते, इस लेख में हम बात करेंगे कि कंप्यूटर प्रोग्राम का उपयोग कैसे किया जाता है और इससे हमारे काम में क्या लाभ होता है। अगर आपका कोई सवाल है तो आप हमसे कभी भी पूछ सकते हैं। धन्यवाद।
भारत दक्षिण एशिया में स्थित एक देश है। इसकी राजधानी नई दिल्ली है और जनसंख्या की दृष्टि से यह विश्व का सबसे बड़ा देश है। यहाँ अनेक भाषाएँ बोली जाती हैं।`,
  russian: `Размер контекстного окна ограничен, и когда агент читает слишком много файлов, качество ответов постепенно снижается. Поэтому старые результаты нужно сокращать до того, как окно заполнится. Пользователь сказал, что базу данных удалять нельзя и что перед каждым выпуском необходимо запускать все проверки. Вчера шёл сильный дождь, поезд опоздал почти на два часа, однако на послеобеденное совещание мы всё-таки успели. Обед в столовой рядом с вокзалом оказался вкусным и недорогим, и мы решили вернуться туда на следующей неделе.
Привет! Сегодня мы поговорим о том, как пользоваться этой программой и что она умеет. Если у вас есть вопросы, задавайте их в комментариях, мы обязательно ответим. Спасибо за внимание.
Файл не найден. Проверьте правильность указанного пути и повторите попытку. Для подключения к серверу необходимо указать имя пользователя и пароль. Соединение было закрыто удалённым узлом.`,
  german: `Das Kontextfenster eines Modells ist begrenzt, und wenn ein Agent zu viele Dateien liest, sinkt die Qualität der Antworten allmählich. Deshalb müssen ältere Ergebnisse rechtzeitig gekürzt werden, bevor das Fenster vollläuft. Der Benutzer hat gesagt, dass die Datenbank niemals gelöscht werden darf und dass vor jeder Veröffentlichung sämtliche Prüfungen durchlaufen werden müssen. Gestern regnete es heftig, weshalb der Zug fast zwei Stunden Verspätung hatte, aber zur Besprechung am Nachmittag kamen wir trotzdem pünktlich. Das Mittagessen in der Gaststätte gegenüber dem Bahnhofsgebäude war schmackhaft und preiswert, und die Bedienung außergewöhnlich freundlich.
Die Bundesrepublik Deutschland ist ein Bundesstaat in Mitteleuropa. Er hat sechzehn Bundesländer und ist als demokratischer und sozialer Rechtsstaat verfasst. Die Einwohnerzahl beträgt rund vierundachtzig Millionen.
Die Datei konnte nicht gefunden werden. Überprüfen Sie die Zugriffsberechtigungen und die Netzwerkverbindung, bevor Sie den Vorgang wiederholen. Der Fehlerbehandlungsmechanismus protokolliert sämtliche Ausnahmebedingungen in der Konfigurationsdatei.
Wir müssen die Geschwindigkeitsbegrenzung und die Versicherungsbedingungen berücksichtigen. Unternehmensführung und Arbeitnehmervertretung einigten sich auf eine Übergangsregelung für die Kurzarbeit.`,
  french: `La fenêtre de contexte d'un modèle est limitée, et lorsqu'un agent lit trop de fichiers, la qualité des réponses diminue peu à peu. Il faut donc raccourcir les anciens résultats avant que la fenêtre soit pleine. L'utilisateur a dit que la base de données ne devait jamais être effacée et que tous les tests devaient réussir avant chaque nouvelle version. Hier, il a plu très fort et le train est arrivé avec presque deux heures de retard, mais nous étions à l'heure pour la réunion de l'après-midi.`,
  spanish: `La ventana de contexto de un modelo es limitada, y cuando un agente lee demasiados archivos, la calidad de las respuestas baja poco a poco. Por eso hay que acortar los resultados antiguos antes de que la ventana se llene. El usuario dijo que la base de datos no se debe borrar nunca y que todas las pruebas tienen que pasar antes de cada versión nueva. Ayer llovió mucho y el tren llegó con casi dos horas de retraso, pero aun así llegamos puntuales a la reunión de la tarde.`,
  greek: `Το παράθυρο συμφραζομένων ενός μοντέλου είναι περιορισμένο, και όταν ένας πράκτορας διαβάζει πάρα πολλά αρχεία, η ποιότητα των απαντήσεων πέφτει σιγά σιγά. Γι' αυτό τα παλιά αποτελέσματα πρέπει να συντομεύονται πριν γεμίσει το παράθυρο. Ο χρήστης είπε ότι η βάση δεδομένων δεν πρέπει ποτέ να διαγραφεί και ότι όλοι οι έλεγχοι πρέπει να περνούν πριν από κάθε νέα έκδοση.`,
  hebrew: `חלון ההקשר של מודל הוא מוגבל, וכאשר סוכן קורא יותר מדי קבצים, איכות התשובות יורדת בהדרגה. לכן צריך לקצר תוצאות ישנות לפני שהחלון מתמלא. המשתמש אמר שאסור למחוק את מסד הנתונים ושכל הבדיקות חייבות לעבור לפני כל גרסה חדשה. אתמול ירד גשם חזק והרכבת איחרה כמעט בשעתיים, אבל בכל זאת הגענו בזמן לפגישה של אחר הצהריים.`,
  mathematics: `∀ε > 0 ∃δ > 0 : |x − a| < δ ⇒ |f(x) − f(a)| < ε. ∑_{k=1}^{n} k² = n(n+1)(2n+1)/6. ∫₀^∞ e^{−x²} dx = √π/2. A ∩ (B ∪ C) = (A ∩ B) ∪ (A ∩ C). ∇·E = ρ/ε₀, ∇×B = μ₀J + μ₀ε₀ ∂E/∂t. Let α, β ∈ ℝ with α ≤ β; then ‖u + v‖ ≤ ‖u‖ + ‖v‖ and ⟨u, v⟩² ≤ ⟨u, u⟩⟨v, v⟩. If p ∤ n, then n^{p−1} ≡ 1 (mod p). ℕ ⊂ ℤ ⊂ ℚ ⊂ ℝ ⊂ ℂ. λ₁ ≥ λ₂ ≥ … ≥ λₙ ≥ 0, det(A − λI) = 0, ∂²u/∂x² + ∂²u/∂y² = 0, σ² = ∑ᵢ (xᵢ − μ)²/n, ¬(P ∧ Q) ⇔ ¬P ∨ ¬Q.
Let f: ℝⁿ → ℝ be convex. Then ∇f(x)ᵀ(y − x) ≤ f(y) − f(x) ∀ x, y ∈ ℝⁿ.
∮_C F·dr = ∬_S (∇×F)·dS, ∂f/∂x ≈ Δf/Δx, x ∈ A ∪ B ⊆ C, a ≠ b ∧ b ≤ c ⇒ a < c, ∏ᵢ pᵢ = 1, θ → φ, ⊕ ⊗ ∅ ∈ ∉ ⊥ ∥ ≅ ≡ ∞
α + β = γ, x² + y² = z², f: A → B, ∑ aᵢ = ∞, √2 ≈ 1.414, π ≈ 3.14159, n → ∞, ε > 0, ∀x ∃y (x < y), A ⊂ B, |A| = ℵ₀`,
} as const;

/** Hexadecimal data, as in dumps and hashes. */
export function hexSample(bytes: number): string {
  let state = 0x2545f491;
  let text = "";
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += (state >>> 24).toString(16).padStart(2, "0");
  }
  return text;
}
